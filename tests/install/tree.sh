# Installs the tested build under a prefix of its own, moves it, and builds a program against it: by hand, with
# pkg-config, and as a CMake package; that the build directory is, too. Then what pkg-config says of directories outside of the prefix.

set -eu
here=$(cd "$(dirname "$0")" && pwd -P)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
name=${TESTED_LIB##*/lib}
name=${name%.so}

fail() {
    echo "FAILED: $*"
    exit 1
}

cmake --install "$TESTED_BUILD_DIR" --prefix "$work/first" >"$work/log" || fail "install: $(cat "$work/log")"
# Nothing in it may know where it was installed.
mv "$work/first" "$work/moved"
prefix=$work/moved
lib=$prefix/lib

[ "$(readlink "$lib/lib$name.so")" = "lib$name.so.0" ] || fail "lib$name.so is not a link to the soname"
[ -f "$lib/lib$name.so.0" ] && [ -f "$lib/lib$name.a" ] && [ -f "$prefix/include/hakmem.h" ] || fail 'a file is missing'
readelf -d "$lib/lib$name.so.0" | grep -q "soname: \[lib$name.so.0\]" || fail 'the soname'
! readelf -d "$lib/lib$name.so.0" | grep -E 'RPATH|RUNPATH' || fail 'a run path was left in'
! grep -r -l -F "$work/first" "$lib/cmake" "$lib/pkgconfig" || fail 'the description files name the first place'

cd "$work"
"$TESTED_CC" -fno-builtin -I"$prefix/include" "$here/program.c" -L"$lib" "-l$name" -o by_hand
LD_LIBRARY_PATH=$lib ./by_hand || fail 'a program linked by hand does not get its malloc'
"$TESTED_CC" -fno-builtin -I"$prefix/include" "$here/program.c" "$lib/lib$name.a" -o by_archive
./by_archive || fail 'a program linked with the archive does not get its malloc'

if command -v pkg-config >/dev/null 2>&1; then
    export PKG_CONFIG_PATH="$lib/pkgconfig"
    # shellcheck disable=SC2046 # a list of flags
    "$TESTED_CC" -fno-builtin "$here/program.c" $(pkg-config --cflags --libs "$name") -o by_pkg_config
    LD_LIBRARY_PATH=$lib ./by_pkg_config || fail 'a program linked by pkg-config does not get its malloc'
    pkg-config --exact-version="$(sed -n 's/^project(hakmem VERSION \([0-9.]*\).*/\1/p' \
        "$TESTED_SOURCE_DIR/CMakeLists.txt")" "$name" || fail 'the version of the pkg-config file'
    # shellcheck disable=SC2046
    "$TESTED_CC" -shared -fPIC $(pkg-config --cflags "$name") "$here/plugin.c" -Wl,-Bstatic \
        $(pkg-config --static --libs "$name") -Wl,-Bdynamic -o plugin.so || fail 'a plugin with the archive by pkg-config'
    readelf -d plugin.so | grep -q NODELETE || fail 'a plugin with the archive by pkg-config may be unmapped'
else
    echo 'pkg-config is not installed: that part was left out'
fi

mkdir consumer
cp "$here/program.c" "$here/plugin.c" "$here/host.c" consumer/
cp "$here/consumer.cmake" consumer/CMakeLists.txt
target=${name#hakmem-}
cmake -S consumer -B consumer/build -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DNAME="$target" \
    -DCMAKE_C_COMPILER="$TESTED_CC" -DCMAKE_C_FLAGS=-fno-builtin >"$work/log" 2>&1 || fail "find_package: $(cat "$work/log")"
cmake --build consumer/build >"$work/log" 2>&1 || fail "the consumer does not build: $(cat "$work/log")"
consumer/build/shared || fail 'a program of the CMake package does not get its malloc'
consumer/build/archive || fail 'a program of the CMake package with the archive does not get its malloc'
consumer/build/host consumer/build/libplugin.so || fail 'a plugin with the archive that was closed'
rm -rf consumer/build
cmake -S consumer -B consumer/build -G Ninja -Dhakmem_DIR="$TESTED_BUILD_DIR" -DNAME="$target" \
    -DCMAKE_C_COMPILER="$TESTED_CC" -DCMAKE_C_FLAGS=-fno-builtin >"$work/log" 2>&1 ||
    fail "find_package in the build directory: $(cat "$work/log")"
cmake --build consumer/build >"$work/log" 2>&1 || fail "the consumer of the build directory does not build: $(cat "$work/log")"
consumer/build/shared || fail 'a program of the build directory does not get its malloc'
mkdir empty
cp "$lib/cmake/hakmem/"hakmem-config*.cmake empty/
! cmake -S consumer -B consumer/none -G Ninja -Dhakmem_DIR="$work/empty" >"$work/log" 2>&1 || fail 'a package without a library is found'
grep -q 'has no variant' "$work/log" || fail "what is said of a package without a library: $(cat "$work/log")"

cmake -S "$TESTED_SOURCE_DIR" -B absolute -G Ninja -DCMAKE_C_COMPILER="$TESTED_CC" -DCMAKE_INSTALL_PREFIX=/opt/hak \
    -DCMAKE_INSTALL_LIBDIR=/opt/libraries -DCMAKE_INSTALL_INCLUDEDIR=/opt/headers >"$work/log" 2>&1 || fail "$(cat "$work/log")"
for line in prefix=/opt/hak libdir=/opt/libraries includedir=/opt/headers; do
    grep -qx "$line" absolute/hakmem.pc || fail "absolute directories in hakmem.pc: $(cat absolute/hakmem.pc)"
done
echo passed
