#!/bin/sh
# static.sh SOURCE KIND...: builds a source of the tests as a program without a dynamic linker, by each KIND (-static, -static-pie), and
# runs it. Skipped where there is no static libc.
set -eu
source=$1
shift
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

printf 'int main(void) { return 0; }\n' >"$place/empty.c"
if ! "$TESTED_CC" -static -o "$place/empty" "$place/empty.c" 2>/dev/null; then
    echo "SKIP: no static libc here"
    exit 77
fi
for kind in "$@"; do
    "$TESTED_CC" -std=gnu11 -O2 -g -fno-builtin -fPIE -I"$TESTED_SOURCE_DIR/include" -I"$TESTED_SOURCE_DIR/src" \
        -I"$TESTED_SOURCE_DIR/tests" "$kind" -pthread -o "$place/static" "$source" \
        -Wl,--whole-archive "$TESTED_ARCHIVE" -Wl,--no-whole-archive 2>"$place/words" || { cat "$place/words" && exit 1; }
    "$place/static"
done
