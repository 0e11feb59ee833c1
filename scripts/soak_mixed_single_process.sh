#!/bin/sh
# A soak in one process: CSV epoch,iter,throughput_ops_s,rss_mb (measure/soak.py).
# Variables BENCH_BIN DURATION_SEC EPOCH_SEC WS HAKMEM_PROFILE.
exec python3 "$(dirname "$0")/measure/soak.py" single "$@"
