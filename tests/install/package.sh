# The archive that cpack makes holds the library, its description files and the header.

set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cpack --config "$TESTED_BUILD_DIR/CPackConfig.cmake" -G TGZ -B "$work" >"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
}
tar -tzf "$work"/*.tar.gz >"$work/list"
for file in lib/libhakmem.so.0 lib/libhakmem.a include/hakmem.h lib/pkgconfig/hakmem.pc \
    lib/cmake/hakmem/hakmem-config.cmake; do
    if ! grep -q "/$file\$" "$work/list"; then
        echo "FAILED: the package has no $file; it has:"
        cat "$work/list"
        exit 1
    fi
done
echo passed
