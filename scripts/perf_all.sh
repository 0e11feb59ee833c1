#!/bin/sh
# Everything that measures, short questions first; each part also runs by itself and keeps its own variables.
here=$(dirname "$0")
status=0
for part in startup_cost rss_mixed instructions_mixed perf_observe verify_health_profiles perf_fast syscalls_steady; do
    printf '\n== %s\n' "$part"
    "$here/$part.sh" || status=1
done
exit $status
