#!/bin/sh
# Health check of the observe build: its diagnostics and the OS statistics (measure/health.py). Variables ITERS WS.
# It builds that driver, unless BENCH_DIR names a directory of ready ones.
here=$(dirname "$0")
[ $# -gt 0 ] || [ -n "${BENCH_DIR:-}" ] || "$here/build_bench.sh" hakmem_observe >&2 || exit
exec python3 "$here/measure/health.py" observe "$@"
