#!/bin/sh
# Instructions that allocators execute themselves in any program, beside all of it (measure/own.py).
# Arguments: libraries to preload, then -- and the program's command.
exec python3 "$(dirname "$0")/measure/own.py" "$@"
