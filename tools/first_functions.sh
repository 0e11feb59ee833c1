#!/bin/sh
# first_functions.sh [LIBRARY...]: writes cmake/first_functions.txt: which of the library's functions a small program
# (tests/bars/small_process.c) executes, counted by callgrind in the standard and the hardened variant, and in each LIBRARY, such as
# one that another compiler made. Run it when bars_small_process says that more of the library's file is resident; the order of
# the list is that of names and says nothing.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$root/hakmem" build standard hardened
cc -O2 -fno-builtin -I"$root/include" -o "$folder/program" "$root/tests/bars/small_process.c" -lpthread -ldl
for library in "$root/build/standard/libhakmem.so" "$root/build/hardened/libhakmem-hardened.so" "$@"; do
    file=$(realpath "$library")
    LD_PRELOAD=$file valgrind -q --tool=callgrind --callgrind-out-file="$folder/out" "$folder/program" >"$folder/said" || true
    callgrind_annotate --threshold=100 --show=Ir "$folder/out" |
        sed -n "s|^.*:\([A-Za-z_][A-Za-z_0-9]*\)[^ ]* \[$file\]\$|\1|p" >"$folder/names"
    [ -s "$folder/names" ] || { echo "first_functions.sh: callgrind names no function of $library" >&2; exit 1; }
    cat "$folder/names" >>"$folder/all"
done
{
    echo "# What a small program executes, written by tools/first_functions.sh: these functions come first in the library's file."
    sort -u "$folder/all"
} >"$root/cmake/first_functions.txt"
