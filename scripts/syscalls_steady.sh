#!/bin/sh
# Memory system calls in the first 1 % of the mixed workload and after it (measure/syscalls.py). Variables ITERS WS.
# Arguments: allocators (a library to preload, a driver, or a name such as hakmem, mi, system).
exec python3 "$(dirname "$0")/measure/syscalls.py" "$@"
