#!/bin/sh
# Peak RSS of the mixed workload for each allocator (measure/rss.py). Variables ITERS WS RUNS.
# Arguments: allocators (a library to preload, a driver, or a name such as hakmem, mi, system).
exec python3 "$(dirname "$0")/measure/rss.py" "$@"
