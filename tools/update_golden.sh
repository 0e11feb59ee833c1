#!/bin/sh
# Counts the hot path of every variant anew and writes tests/golden/hot_path.golden. Needs gcc 12 on x86-64.
# Commit the table together with the change that moved it, and say why it moved.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
program=$root/build/golden/hot_path

"$root/hakmem" build standard fast observe hardened
mkdir -p "$root/build/golden"
cc -std=c11 -O2 -fno-builtin -pthread -o "$program" "$root/tests/golden/hot_path.c" -ldl
python3 "$root/tests/golden/golden.py" write "$program" \
    "standard=$root/build/standard/libhakmem.so" \
    "fast=$root/build/fast/libhakmem-fast.so" \
    "observe=$root/build/observe/libhakmem-observe.so" \
    "hardened=$root/build/hardened/libhakmem-hardened.so"
cat "$root/tests/golden/hot_path.golden"
