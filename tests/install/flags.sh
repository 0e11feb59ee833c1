# A build whose user asks for more than cmake/flags.cmake does: link-time optimisation, as distributions ask for it, and a cross compiler
# that is told its target, as clang is. Its archive can be linked, and shows no name more.

set -eu
. "$TESTED_SOURCE_DIR/tests/api/names.sh"
here=$(cd "$(dirname "$0")" && pwd -P)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C

fail() {
    echo "FAILED: $*"
    exit 1
}

# build NAME OPTION...: the library, in $work/NAME
build() {
    name=$1
    shift
    cmake -S "$TESTED_SOURCE_DIR" -B "$work/$name" -G Ninja "$@" >"$work/log" 2>&1 || fail "$name: configure: $(cat "$work/log")"
    cmake --build "$work/$name" --target hakmem hakmem_static -- -j 1 >"$work/log" 2>&1 || fail "$name: build: $(cat "$work/log")"
    exported_by_archive | sort >"$work/expected"
    nm -g --defined-only "$work/$name/libhakmem.a" | awk 'NF == 3 { print $3 }' | sort >"$work/found"
    diff "$work/expected" "$work/found" >"$work/log" || fail "$name: the names of the archive: $(head "$work/log")"
}

for kind in -DCMAKE_C_FLAGS=-flto -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON; do
    build lto -DCMAKE_C_COMPILER="$TESTED_CC" "$kind"
    "$TESTED_CC" -fno-builtin -I"$TESTED_SOURCE_DIR/include" "$here/program.c" "$work/lto/libhakmem.a" -o "$work/program" ||
        fail "$kind: the archive cannot be linked"
    "$work/program" || fail "$kind: a program with the archive does not get its malloc"
    rm -rf "$work/lto"
done

# Where clang can make programs for the other of the two processors.
target=aarch64 debian=arm64
[ "$(uname -m)" != aarch64 ] || target=x86_64 debian=amd64
if printf '#include <stdio.h>\nint main(void) { return !stdin; }\n' >"$work/empty.c" && command -v clang >/dev/null 2>&1 &&
    clang --target=$target-linux-gnu "$work/empty.c" -o "$work/empty" 2>"$work/log"; then
    build cross -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=$target -DCMAKE_C_COMPILER=clang \
        -DCMAKE_C_COMPILER_TARGET=$target-linux-gnu -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_CXX_COMPILER_TARGET=$target-linux-gnu
    ! grep -q DEBIAN "$work/cross/CPackConfig.cmake" ||
        grep -q "^set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE \"$debian\")" "$work/cross/CPackConfig.cmake" ||
        fail 'the Debian package says it is for the machine that has built it'
else
    echo "no clang and libc for $target: that part was left out"
fi
echo passed
