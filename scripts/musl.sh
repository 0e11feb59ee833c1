#!/bin/sh
# Speed and peak memory of programs that are linked with musl, under its own malloc and under hakmem (measure/musl.py).
# Arguments: other libraries for musl to preload. Variables: ROUNDS, SEED, ROWS.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/hakmem" build musl
cmake --build "$root/build/musl" --target suite >"$root/build/musl/suite.log" 2>&1 || {
    tail -n 40 "$root/build/musl/suite.log" >&2
    exit 1
}
exec python3 "$root/scripts/measure/musl.py" "$@"
