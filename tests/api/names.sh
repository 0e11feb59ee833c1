# Sourced: which names the tested source exports, those of exports.def and of hakmem.h.

exported_by_shared() {
    sed -n 's/^EXPORTED[A-Z_]*(\([A-Za-z0-9_]*\).*/\1/p' "$TESTED_SOURCE_DIR/src/exports.def"
    sed -n 's/.*[ *]\(hakmem_[a-z_]*\)(.*HAKMEM_NOEXCEPT.*/\1/p' "$TESTED_SOURCE_DIR/include/hakmem.h"
}

# The archive is without the rows EXPORTED_SHARED.
exported_by_archive() {
    exported_by_shared | grep -vxF -e "$(sed -n 's/^EXPORTED_SHARED(\([A-Za-z0-9_]*\).*/\1/p' "$TESTED_SOURCE_DIR/src/exports.def")"
}
