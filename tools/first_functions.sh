#!/bin/sh
# first_functions.sh [CMAKE_ARGUMENT...]: writes cmake/first_functions.txt: which of the library's functions a small program
# (tests/bars/small_process.c) executes, counted by callgrind in the standard and the hardened variant. Arguments go to CMake, such as
# -DCMAKE_C_COMPILER=clang; what is in the list stays there then. Run it without any when bars_small_process says that more of the
# library's file is resident. The order of the list is that of names and says nothing.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
list=$root/cmake/first_functions.txt
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cc -O2 -fno-builtin -I"$root/include" -o "$folder/program" "$root/tests/bars/small_process.c" -lpthread -ldl
if [ $# -gt 0 ]; then grep -v '^#' "$list" >"$folder/all"; fi
for variant in standard hardened; do
    cmake -S "$root" -B "$folder/$variant" -DHAKMEM_VARIANT=$variant -DHAKMEM_FIRST_PAGES=OFF "$@" >"$folder/said"
    cmake --build "$folder/$variant" --target library >"$folder/said"
    library=$(realpath "$folder/$variant"/libhakmem*.so)
    LD_PRELOAD=$library valgrind -q --tool=callgrind --callgrind-out-file="$folder/out" "$folder/program" >"$folder/said" || true
    callgrind_annotate --threshold=100 --show=Ir "$folder/out" |
        sed -n "s|^.*:\([A-Za-z_][A-Za-z_0-9]*\)[^ ]* \[$library\]\$|\1|p" >"$folder/names"
    [ -s "$folder/names" ] || { echo "first_functions.sh: callgrind names no function of $library" >&2; exit 1; }
    cat "$folder/names" >>"$folder/all"
done
{
    echo "# What a small program executes, written by tools/first_functions.sh: these functions come first in the library's file."
    sort -u "$folder/all"
} >"$folder/list"
cp "$folder/list" "$list"
