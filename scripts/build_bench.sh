#!/bin/sh
# Builds the benchmark drivers in build/bench: each variant's library, and the driver linked to it.
#
# usage: scripts/build_bench.sh [NAME...]      NAME: hakmem hakmem_minimal hakmem_observe hakmem_hardened system mi
#                                              hakmem_fast_pgo (not in the default: see build_pgo.sh)
#                                              tail_mixed (latency of single calls, for any allocator by preload)
#                                              suite (the programs of `hakmem bench`, for any allocator by preload)
# A full name bench_random_mixed_NAME is understood too. mi fetches and builds mimalloc when it is not there yet;
# without names everything is built, and mimalloc left out, with a word about it, where it cannot be fetched.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")

peer_ready() {
    [ -e "$root/build/peers/libmimalloc3.so" ] || "$here/get_mimalloc.sh" >&2
}

driver_build() {
    "$root/hakmem" build "$1"
    log=$root/build/$1/bench.log
    : >"$log" # nothing of an earlier one is shown
    (cd "$root" && cmake --preset "$1" && cmake --build "build/$1" --target "$2") >"$log" 2>&1 || {
        tail -n 40 "$log" >&2
        exit 1
    }
    echo "$root/build/bench/${3:-$2}"
}

if [ $# -eq 0 ]; then
    set -- hakmem hakmem_minimal hakmem_observe hakmem_hardened system suite
    if peer_ready; then
        set -- "$@" mi
    else
        echo 'build_bench: going on without mimalloc' >&2
    fi
fi
for name in "$@"; do
    name=${name#bench_random_mixed_}
    case $name in
        hakmem | system) driver_build standard "bench_random_mixed_$name" ;;
        tail_mixed) driver_build standard tail_mixed ;;
        suite) driver_build standard suite 'suite_*' ;;
        hakmem_minimal) driver_build fast "bench_random_mixed_$name" ;;
        hakmem_observe) driver_build observe "bench_random_mixed_$name" ;;
        hakmem_hardened) driver_build hardened "bench_random_mixed_$name" ;;
        mi)
            peer_ready || exit
            driver_build standard bench_random_mixed_mi
            ;;
        hakmem_fast_pgo) "$here/build_pgo.sh" ;;
        *)
            echo "build_bench: unknown driver '$name'" >&2
            exit 2
            ;;
    esac
done
