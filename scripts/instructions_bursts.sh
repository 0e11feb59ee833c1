#!/bin/sh
# Instructions of a block of a burst, freed last first, first first, in random order (measure/bursts.py). Variables ITERS WS.
# Arguments: libraries to preload.
exec python3 "$(dirname "$0")/measure/bursts.py" "$@"
