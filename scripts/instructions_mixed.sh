#!/bin/sh
# Instructions per operation of the mixed workload, the loop subtracted (measure/instructions.py). Variables ITERS WS.
# Arguments: allocators (a library to preload, a driver, or a name such as hakmem, mi, system).
exec python3 "$(dirname "$0")/measure/instructions.py" "$@"
