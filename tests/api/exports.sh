# libc P1: the dynamic symbols of the library, and the global ones of the archive, are the rows of src/exports.def and the
# functions of include/hakmem.h: none is missing, and nothing else is visible. The archive is without the rows EXPORTED_SHARED.

set -eu
. "$TESTED_SOURCE_DIR/tests/api/names.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C

exported_by_shared | sort > "$work/expected_shared"
exported_by_archive | sort > "$work/expected_archive"
if [ "$(wc -l < "$work/expected_archive")" -lt 60 ]; then
    echo "cannot read the rows of exports.def and hakmem.h:"
    cat "$work/expected_shared"
    exit 1
fi
nm -D --defined-only "$TESTED_LIB" | awk '{ sub(/@.*/, "", $3); print $3 }' | sort > "$work/shared"
nm -g --defined-only "$TESTED_ARCHIVE" | awk 'NF == 3 { print $3 }' | sort > "$work/archive"

failed=0
for found in shared archive; do
    if ! diff "$work/expected_$found" "$work/$found" > "$work/difference"; then
        echo "$found: < is expected and missing, > is visible and should not be"
        grep '^[<>]' "$work/difference"
        failed=1
    fi
done
exit $failed
