# Finds the kernel that the tests beside this file boot: the file that $TESTED_KERNEL names, else Debian's cloud kernel,
# which is downloaded into the build directory once and not installed. Skips where there is none.

set -u
directory=$TESTED_BUILD_DIR/kernel

skip() {
    echo "SKIP: $*"
    exit 77
}

if [ -n "${TESTED_KERNEL-}" ]; then
    if [ ! -r "$TESTED_KERNEL" ]; then
        echo "FAILED: TESTED_KERNEL=$TESTED_KERNEL cannot be read"
        exit 1
    fi
    echo "named: $TESTED_KERNEL"
    exit 0
fi
if [ -r "$directory/vmlinuz" ]; then
    echo "there already: $(cat "$directory/package")"
    exit 0
fi
[ "$(uname -m)" = x86_64 ] || skip "no kernel is known for $(uname -m)"
command -v dpkg-deb >/dev/null || skip 'no dpkg-deb to unpack a kernel with; TESTED_KERNEL=FILE names another one'
package=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null | sed -n 's/.*Depends: \(linux-image-[^ ]*\).*/\1/p')
[ -n "$package" ] || skip 'no package linux-image-cloud-amd64 in the package lists; TESTED_KERNEL=FILE names another one'

rm -rf "$directory"
mkdir -p "$directory"
cd "$directory" || exit 1
if ! apt-get -q download "$package" >log 2>&1; then
    tail -n 5 log
    skip "the package $package cannot be downloaded; TESTED_KERNEL=FILE names another kernel"
fi
dpkg-deb -x "$package"_*.deb unpacked || exit 1
echo "$package"_*.deb >package
mv unpacked/boot/vmlinuz-* vmlinuz || exit 1
rm -rf unpacked ./*.deb
echo "downloaded: $(cat package)"
