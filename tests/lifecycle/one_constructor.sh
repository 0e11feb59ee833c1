# Nothing of the library runs before its first call but what watches forks: it has that one constructor beside those that the compiler gives to an empty
# library. One of the compiler's own library, which asks the processor what it can, once cost each process two page faults.

set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

constructors() {
    readelf -d "$1" | awk '/\((PRE)?INIT_ARRAYSZ\)/ { bytes += $3 } END { print bytes + 0 }'
}

"${CC:-cc}" -shared -x c -o "$work/empty.so" /dev/null
word=$(readelf -h "$work/empty.so" | awk '/Class:/ { print $2 == "ELF64" ? 8 : 4 }')
wanted=$(($(constructors "$work/empty.so") + word))
ours=$(constructors "$TESTED_LIB")
if [ "$ours" -gt "$wanted" ]; then
    echo "the constructors of the library take $ours bytes, those of an empty one and one more $wanted"
    exit 1
fi
