# The Makefile's targets do what their names say: make, make install with PREFIX and DESTDIR, make clean.

. "$(dirname "$0")/tree.sh"

if ! command -v make >/dev/null 2>&1; then
    echo 'SKIP: make is not installed'
    exit 77
fi
cp "$source_tree/Makefile" "$tree/"
unset MAKEFLAGS MAKELEVEL DESTDIR PREFIX

try make -C "$tree"
expect_status 0 make
for library in standard/libhakmem fast/libhakmem-fast observe/libhakmem-observe hardened/libhakmem-hardened; do
    [ -e "$tree/build/$library.so" ] && [ -e "$tree/build/$library.a" ] || complain "make: $library is missing"
done

for prefix in /opt/hakmem '/opt/two words'; do
    try make -C "$tree" install DESTDIR="$work/a stage" PREFIX="$prefix"
    expect_status 0 'make install'
    for name in hakmem hakmem-fast hakmem-observe hakmem-hardened; do
        for file in lib$name.so lib$name.so.0 lib$name.a pkgconfig/$name.pc; do
            [ -e "$work/a stage$prefix/lib/$file" ] || complain "make install: $prefix/lib/$file is missing"
        done
    done
done

try make -C "$tree" clean
[ ! -e "$tree/build" ] || complain 'make clean'

finish
