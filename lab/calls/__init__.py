"""How long the calls of a process take, and which came last, read from outside: in the variant observe.

records     what the process keeps: counts and rings         picture     percentile curves
buckets     from the number of a bucket to ticks             report      the tables and the JSON
latency     histograms in nanoseconds, and their file        look        all of it together
trace       the events of all threads in time order
"""
