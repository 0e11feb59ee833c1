#!/bin/sh
# Extra system calls and page faults of starting `true` under a library (measure/startup.py). Variable RUNS.
# Arguments: libraries to preload.
exec python3 "$(dirname "$0")/measure/startup.py" "$@"
