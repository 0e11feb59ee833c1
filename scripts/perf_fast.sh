#!/bin/sh
# The official comparison: the fast build against mimalloc, interleaved, at four working sets (measure/pairs.py).
# Variables RUNS ITERS WS SEED PIN BENCH_WORKLOAD; arguments: other allocators, the last one is the reference.
exec python3 "$(dirname "$0")/measure/pairs.py" "$@"
