#!/bin/sh
# A soak with one process per step: CSV epoch_s,elapsed_s,iter,throughput_ops_s,peak_rss_mb (measure/soak.py).
# Variables BENCH_BIN DURATION_SEC STEP_ITERS WS.
exec python3 "$(dirname "$0")/measure/soak.py" steps "$@"
