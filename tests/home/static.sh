#!/bin/sh
# Builds static.c as a program without a dynamic linker, and runs it. Skipped where there is no static libc.
set -eu
here=$TESTED_SOURCE_DIR/tests
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

printf 'int main(void) { return 0; }\n' >"$place/empty.c"
if ! "$TESTED_CC" -static -o "$place/empty" "$place/empty.c" 2>/dev/null; then
    echo "SKIP: no static libc here"
    exit 77
fi
"$TESTED_CC" -std=gnu11 -O2 -g -fno-builtin -I"$TESTED_SOURCE_DIR/include" -I"$here" -static -pthread \
    -o "$place/static" "$here/home/static.c" -Wl,--whole-archive "$TESTED_ARCHIVE" -Wl,--no-whole-archive
"$place/static"
