#!/bin/sh
# Data-cache misses per operation of the mixed workload, the loop subtracted (measure/cache_misses.py). Variables ITERS WS
# D1 LL SEED. Arguments: --json; allocators (a library to preload, a driver, or a name such as hakmem, mi, system).
exec python3 "$(dirname "$0")/measure/cache_misses.py" "$@"
