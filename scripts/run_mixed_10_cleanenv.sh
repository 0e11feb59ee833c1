#!/bin/sh
# RUNS runs in a clean environment, then mean, median, min, max, stddev, CV (measure/runs.py).
# Variables ITERS WS RUNS BENCH_BIN.
exec python3 "$(dirname "$0")/measure/runs.py" "$@"
