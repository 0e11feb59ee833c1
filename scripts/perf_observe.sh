#!/bin/sh
# Health check of the observe build: its diagnostics and the OS statistics (measure/health.py). Variables ITERS WS.
exec python3 "$(dirname "$0")/measure/health.py" observe "$@"
