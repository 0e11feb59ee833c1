#!/bin/sh
# first_functions.sh [LIBRARY...]: adds to cmake/first_functions.txt what a small program (tests/golden/small_process.c) executes of the
# library, in the standard and the hardened variant and in each LIBRARY, such as one that another compiler made. Run it when
# golden_first_pages says so. The order of the list is that of names and says nothing.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
program=$root/build/golden/small_process

"$root/hakmem" build standard hardened
mkdir -p "$root/build/golden"
cc -O2 -fno-builtin -I"$root/include" -o "$program" "$root/tests/golden/small_process.c" -lpthread -ldl
python3 "$root/tests/golden/first_pages.py" write "$program" \
    "$root/build/standard/libhakmem.so" "$root/build/hardened/libhakmem-hardened.so" "$@"
