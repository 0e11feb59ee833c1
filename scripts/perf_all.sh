#!/bin/sh
# Everything that measures, short questions first; each part also runs by itself and keeps its own variables.
# It builds all drivers first, unless BENCH_DIR names a directory of ready ones.
here=$(dirname "$0")
status=0
[ -n "${BENCH_DIR:-}" ] || "$here/build_bench.sh" >&2 || exit
for part in startup_cost rss_mixed instructions_mixed instructions_bursts perf_observe verify_health_profiles perf_fast syscalls_steady; do
    printf '\n== %s\n' "$part"
    "$here/$part.sh" || status=1
done
exit $status
