#!/bin/sh
# The official comparison: the fast build against mimalloc, interleaved, at four working sets (measure/pairs.py).
# Variables RUNS ITERS WS SEED PIN BENCH_WORKLOAD; arguments: other allocators, the last one is the reference.
# Without arguments it builds what it compares, unless BENCH_DIR names a directory of ready drivers.
here=$(dirname "$0")
if [ $# -eq 0 ] && [ -z "${BENCH_DIR:-}" ]; then
    "$here/build_bench.sh" hakmem_minimal system mi >&2 || exit
fi
exec python3 "$here/measure/pairs.py" "$@"
