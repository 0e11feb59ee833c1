"""Which call paths hold the memory of a process on hakmem, read from outside: heap profiles.

sites       what the process keeps: call stacks and counts       messages    the message types of pprof
estimate    from samples to what they stand for                  pprof       the file for pprof
symbols     the symbols of an ELF file                           report      the table and the JSON
names       names of functions as people read them               picture     the icicle
images      the files whose code is mapped                       profile     all of it together
files       what is written, and where
"""
