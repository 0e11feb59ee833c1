#!/bin/sh
# The research build fast + PGO: build/fast_pgo/libhakmem-fast.so and its driver bench_random_mixed_hakmem_fast_pgo.
#
# The one translation unit is compiled with -fprofile-generate, trained by the mixed workload at three working sets, by
# threads and by growing reallocs, and compiled again in the same place with -fprofile-use. The training runs last a few
# seconds. This build is for experiments: it is neither installed nor tested, and its profile belongs to one compiler.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build/fast_pgo
driver=bench_random_mixed_hakmem_fast_pgo
log=$build/build.log
mkdir -p "$build"

configure_and_build() { # the compiler's flags
    cmake -S "$root" -B "$build" -DHAKMEM_VARIANT=fast -DHAKMEM_BENCH_NAME=hakmem_fast_pgo -DCMAKE_C_FLAGS="$1" &&
        cmake --build "$build" --target clean && cmake --build "$build" --target "$driver"
}

quietly() {
    "$@" >"$log" 2>&1 || {
        tail -n 40 "$log" >&2
        exit 1
    }
}

train() {
    env -i PATH="$PATH" BENCH_WORKLOAD="$1" "$root/build/bench/$driver" "$2" "$3" >/dev/null
}

find "$build" -name '*.gcda' -exec rm {} +
quietly configure_and_build '-fprofile-generate -fprofile-update=atomic'
train mixed 5000000 400
train mixed 5000000 4000
train mixed 5000000 100000
train producer_consumer 500000 400
train thread_churn 500000 400
train growing_realloc 500000 400
quietly configure_and_build '-fprofile-use -fprofile-partial-training -Wno-missing-profile -Wno-coverage-mismatch'
echo "$root/build/bench/$driver"
