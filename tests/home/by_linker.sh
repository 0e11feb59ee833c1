#!/bin/sh
# by_linker.sh PROGRAM ARGUMENT...: runs a program by the dynamic linker, which is told the program's name: then the kernel knows of no
# linker. Skipped where the program does not say which one is its own, or where that knows no --preload.
set -eu
linker=$(LC_ALL=C readelf -lW "$1" 2>/dev/null | sed -n 's/.*Requesting program interpreter: \(.*\)].*/\1/p')
if [ -z "$linker" ] || ! "$linker" --preload "$TESTED_LIB" /bin/true 2>/dev/null; then
    echo "SKIP: no dynamic linker that takes --preload"
    exit 77
fi
exec "$linker" --preload "$TESTED_LIB" "$@"
