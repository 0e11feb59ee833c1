#!/bin/sh
# Builds static.c as a program without a dynamic linker, and runs it with samples. Skipped where there is no static libc.
set -eu
here=$TESTED_SOURCE_DIR/tests/heap
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

printf 'int main(void) { return 0; }\n' >"$place/empty.c"
if ! "$TESTED_CC" -static -o "$place/empty" "$place/empty.c" 2>/dev/null; then
    echo "SKIP: no static libc here"
    exit 77
fi
for kind in -static -static-pie; do
    "$TESTED_CC" -std=gnu11 -O2 -g -fno-builtin -fPIE -I"$TESTED_SOURCE_DIR/src" "$kind" -pthread \
        -o "$place/static" "$here/static.c" -Wl,--whole-archive "$TESTED_ARCHIVE" -Wl,--no-whole-archive 2>"$place/words" ||
        { cat "$place/words" && exit 1; }
    HAKMEM_HEAP_SAMPLE=1 "$place/static"
done
