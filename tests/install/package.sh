# The archive that cpack makes is whole: the library, its description files and the header. The Debian packages of two
# variants can be installed at the same time: no file is in both.

set -eu
name=$(sed -n 's/^set(CPACK_PACKAGE_NAME "\(.*\)")$/\1/p' "$TESTED_BUILD_DIR/CPackConfig.cmake")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# expect_in LIST FILE..., expect_not_in LIST FILE...
expect_in() {
    list=$1
    shift
    for file in "$@"; do
        grep -q "/$file\$" "$list" || { echo "FAILED: the package has no $file; it has:" && cat "$list" && exit 1; }
    done
}

expect_not_in() {
    list=$1
    shift
    for file in "$@"; do
        ! grep -q "/$file\$" "$list" || { echo "FAILED: $file is in the package of every variant" && exit 1; }
    done
}

cd "$work"
for kind in DEB TGZ; do
    [ "$kind" = TGZ ] || command -v dpkg-deb >/dev/null 2>&1 || continue
    kinds=${kinds:+$kinds;}$kind
done
cpack --config "$TESTED_BUILD_DIR/CPackConfig.cmake" -G "$kinds" -B "$work" >"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
}
own="lib/lib$name.so.0 lib/lib$name.a lib/pkgconfig/$name.pc"
common='bin/hakmem share/hakmem/hakmem share/hakmem/installed share/hakmem/lab/cli.py include/hakmem.h include/hakmem/allocator.hpp lib/cmake/hakmem/hakmem-config.cmake share/doc/hakmem/options.md'
tar -tzf "$work"/*.tar.gz >"$work/list"
# shellcheck disable=SC2086 # lists of names
expect_in "$work/list" $own $common
case $kinds in
    *DEB*)
        dpkg-deb --fsys-tarfile "$work"/*.deb | tar -t >"$work/list"
        # shellcheck disable=SC2086
        expect_in "$work/list" $own
        # shellcheck disable=SC2086
        if [ "$name" = hakmem ]; then expect_in "$work/list" $common; else expect_not_in "$work/list" $common; fi
        depends=$(dpkg-deb -f "$work"/*.deb Depends)
        libc="libc6 (>= $(getconf GNU_LIBC_VERSION | sed 's/.* //'))"
        case "$name $depends" in
            "hakmem $libc" | hakmem-*" $libc, hakmem (= "*')') ;;
            *) echo "FAILED: $name depends on $depends" && exit 1 ;;
        esac
        dpkg-deb --ctrl-tarfile "$work"/*.deb | tar -xf - -C "$work"
        grep -q '^activate-noawait ldconfig$' "$work/triggers" || { echo 'FAILED: ldconfig is not run' && exit 1; }
        grep -q "^lib$name 0 $name (>= " "$work/shlibs" || { echo 'FAILED: no package can depend on the library' && exit 1; }
        case $(basename "$work"/*.deb) in
            "$name"_*_"$(dpkg --print-architecture)".deb) ;;
            *) echo "FAILED: the package's file is $(basename "$work"/*.deb)" && exit 1 ;;
        esac
        ;;
esac
echo passed
