# A project with hakmem in it names its targets as one that finds it installed, and keeps what is its own: the type of build, the
# package, names of targets, the languages, and where it wants so what it installs.

set -eu
here=$(cd "$(dirname "$0")" && pwd -P)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "FAILED: $*"
    exit 1
}

mkdir "$work/parent"
cp "$here/program.c" "$work/parent/"
cp "$here/parent.cmake" "$work/parent/CMakeLists.txt"
build=$work/build
for fetched in OFF ON; do
    rm -rf "$build"
    for run in first second; do
        cmake -S "$work/parent" -B "$build" -G Ninja -DHAKMEM="$TESTED_SOURCE_DIR" -DFETCHED=$fetched -DHAKMEM_INSTALL=OFF \
            -DCMAKE_C_COMPILER="$TESTED_CC" -DCMAKE_C_FLAGS=-fno-builtin >"$work/log" 2>&1 || fail "$run configure: $(cat "$work/log")"
        ! grep -i 'warning' "$work/log" || fail "$run configure has warnings"
    done
    grep -q '^CMAKE_BUILD_TYPE:STRING=$' "$build/CMakeCache.txt" || fail 'the type of build of the whole project was chosen for it'
    ! grep '^CMAKE_CXX_COMPILER:' "$build/CMakeCache.txt" || fail 'a project in C needs a C++ compiler'
    grep -q '^set(CPACK_PACKAGE_NAME "parent")$' "$build/CPackConfig.cmake" || fail 'the package of the whole project is not its own'
done
cmake --build "$build" -- -j 1 >"$work/log" 2>&1 || fail "the project does not build: $(cat "$work/log")"
"$build/shared" || fail 'a program with the library does not get its malloc'
"$build/archive" || fail 'a program with the archive does not get its malloc'
grep -q -e '-O2 ' "$build/compile_commands.json" || fail 'the allocator is not optimised where no type of build is chosen'
cmake --install "$build" --prefix "$work/place" >"$work/log" || fail "install: $(cat "$work/log")"
[ "$(cd "$work/place" && find . -type f)" = ./bin/archive ] || fail "what is installed unasked: $(cat "$work/log")"
echo passed
