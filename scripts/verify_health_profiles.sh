#!/bin/sh
# Every variant x profile runs the mixed workload and the OS statistics check (measure/health.py). Variables ITERS WS.
# It builds the drivers, unless BENCH_DIR names a directory of ready ones.
here=$(dirname "$0")
if [ $# -eq 0 ] && [ -z "${BENCH_DIR:-}" ]; then
    "$here/build_bench.sh" hakmem hakmem_minimal hakmem_observe hakmem_hardened >&2 || exit
fi
exec python3 "$here/measure/health.py" profiles "$@"
