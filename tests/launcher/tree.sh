# Sourced by the tests of the launcher: makes a small copy of the tree in $tree and gives them words to check with.
#
# The copy has the launcher and the build files of the tested source, and stub.c as its library, so that a whole
# first build takes a second. $work is a private directory that is removed at the end, whatever happens.

set -u

here=$(cd "$(dirname "$0")" && pwd -P)
source_tree=${TESTED_SOURCE_DIR:-$(cd "$here/../.." && pwd -P)}
work=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
trap 'exit 143' TERM INT HUP
tree=$work/tree
failures=0
unset LD_PRELOAD CC
for name in $(env | sed -n 's/^\(HAKMEM_[A-Za-z0-9_]*\)=.*/\1/p'); do
    unset "$name"
done

for tool in cmake ninja flock; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        echo "SKIP: $tool is not installed"
        exit 77
    fi
done

# make_tree DIRECTORY
make_tree() {
    mkdir -p "$1/src" "$1/include"
    for part in CMakeLists.txt CMakePresets.json hakmem launcher cmake packaging; do
        cp -R "$source_tree/$part" "$1/"
    done
    cp "$source_tree/tests/launcher/stub.c" "$1/src/hakmem.c"
    echo '#define STUB_WORDS "first words"' >"$1/src/stub.h"
    echo 'OPTION(verbose, "HAKMEM_VERBOSE")' >"$1/src/options.def"
}

make_tree "$tree"

# try COMMAND...: runs it without standard input; leaves $status and the files $work/out and $work/err.
try() {
    "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
}

complain() {
    failures=$((failures + 1))
    echo "FAILED: $*"
    echo "  status $status; standard output:"
    sed 's/^/    /' "$work/out"
    echo '  standard error:'
    sed 's/^/    /' "$work/err"
}

expect_status() {
    [ "$status" -eq "$1" ] || complain "$2: wanted exit status $1"
}

# expect_words out|err 'basic regular expression' what
expect_words() {
    grep -q -e "$2" "$work/$1" || complain "$3: wanted '$2' in its std$1"
}

expect_no_words() {
    ! grep -q -e "$2" "$work/$1" || complain "$3: did not want '$2' in its std$1"
}

expect_output() {
    [ "$(cat "$work/out")" = "$1" ] || complain "$2: wanted exactly '$1' on standard output"
}

finish() {
    [ "$failures" -eq 0 ] || exit 1
    echo passed
    exit 0
}

# fake_python NAME...: a Python of build/venv that says all words after the program text (-I -B -c TEXT), and these variables of the
# environment that a program would get.
fake_python() {
    mkdir -p "$tree/build/venv/bin"
    {
        printf '#!/bin/sh\nshift 4\n%s\n' "printf '<%s>' \"\$@\""
        for name in "$@"; do
            printf 'printf " [%%s]" "${%s-}"\n' "$name"
        done
        echo 'echo'
    } >"$tree/build/venv/bin/python"
    chmod +x "$tree/build/venv/bin/python"
}

# make_preloads: $work/serves.so, an allocator with any name, and $work/asks.so, which only calls one.
make_preloads() {
    printf '#include <stddef.h>\nvoid *__libc_malloc(size_t);\nvoid *malloc(size_t n) { return __libc_malloc(n); }\n' >"$work/serves.c"
    printf '#include <stdlib.h>\nvoid *other(void) { return malloc(1); }\n' >"$work/asks.c"
    for name in serves asks; do
        cc -shared -fPIC -w -o "$work/$name.so" "$work/$name.c" || complain "$name.so cannot be made"
    done
}
