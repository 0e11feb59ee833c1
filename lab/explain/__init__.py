"""Where the resident memory of a process on hakmem is, read from outside.

problems    what can stand in the way, in words          account     sums, category by category
smaps       what the kernel says of each mapping         report      the table and the JSON
memory      bytes of the process                         snapshot    all of it together, once or until it fits
residency   which pages are resident                     hold        runs a program and holds it before it ends
mapped      the files that it has mapped, opened with care
symbol      where hakmem_layout is                       layout      what it says: roots and fields by name
walk        superslabs, slabs, large blocks, heaps               process      what it is: program and command line
held        runs a program and reports on it at its exit        identity    what every report begins with
plain       what it calls itself, without what a terminal would obey
"""
