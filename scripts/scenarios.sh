#!/bin/sh
# Memory and CPU time of allocators in programs that nobody has chosen: one for each number (measure/scenarios.py).
# Arguments: libraries to preload; without any: hakmem, and the peers that are built. Variables: PROGRAM (scenario,
# or exchange, whose threads free each other's blocks), FIRST, COUNT, SEED.
exec python3 "$(dirname "$0")/measure/scenarios.py" "$@"
