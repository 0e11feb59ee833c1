#!/bin/sh
# Every variant x profile runs the mixed workload and the OS statistics check (measure/health.py). Variables ITERS WS.
exec python3 "$(dirname "$0")/measure/health.py" profiles "$@"
