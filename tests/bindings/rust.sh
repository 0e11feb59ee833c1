# The Rust crate: its own tests with the tested variant; in standard also with the feature `override`, which names its archive
# and a plugin show, whether its flags and its version are the library's, and whether it can be packaged and built from that.

set -eu
. "$TESTED_SOURCE_DIR/launcher/rust.sh"
. "$TESTED_SOURCE_DIR/tests/api/names.sh"
work=$(mktemp -d "$TESTED_BUILD_DIR/rust.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 143' TERM INT HUP
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_TARGET CFLAGS LD_PRELOAD
export LC_ALL=C CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0 CARGO_BUILD_JOBS=2 CARGO_TERM_COLOR=never CC="$TESTED_CC"

fail() {
    echo "FAILED: $*"
    exit 1
}

if reason=$(no_crate "$TESTED_SOURCE_DIR" "$work"); then
    echo "SKIP: $reason"
    exit 77
fi
cd "$work/bindings/rust"

# test_with FEATURES: each in a place of its own, so that only its files are found there
test_with() {
    export CARGO_TARGET_DIR="$work/target-$1"
    cargo test --offline --quiet --features "$1" </dev/null || fail "cargo test --features '$1'"
}

# expect_same NAME: $work/expected and $work/found, whatever their order
expect_same() {
    sort -u "$work/expected" >"$work/1"
    sort -u "$work/found" >"$work/2"
    [ -s "$work/1" ] || fail "$1: nothing to compare with"
    diff "$work/1" "$work/2" || fail "$1: < is expected and missing, > should not be"
}

# The names that the archive shows to the program it is linked to.
names_of_archive() {
    nm -g --defined-only "$CARGO_TARGET_DIR"/debug/build/hakmem-*/out/libhakmem.a | awk 'NF == 3 { print $3 }'
}

if [ "$TESTED_VARIANT" != standard ]; then
    test_with "$TESTED_VARIANT"
    exit 0
fi

test_with ''
exported_by_archive | grep '^hakmem_' >"$work/expected"
names_of_archive >"$work/found"
expect_same 'the names of the archive'
nm -D --defined-only "$CARGO_TARGET_DIR/debug/examples/libplugin.so" | awk '{ print $3 }' >"$work/found"
! grep -v '^plugin_' "$work/found" || fail 'names of a plugin (above) that are not its own'

export CARGO_TARGET_DIR="$work/target-lto"
CFLAGS=-flto cargo build --offline --quiet --example plugin </dev/null || fail 'cargo build with CFLAGS=-flto'
exported_by_archive | grep '^hakmem_' >"$work/expected"
names_of_archive >"$work/found"
expect_same 'the names of the archive with CFLAGS=-flto'

test_with override
exported_by_archive >"$work/expected"
names_of_archive >"$work/found"
expect_same 'the names of the archive with override'

flags=$TESTED_SOURCE_DIR/cmake/flags.cmake
{
    sed -n '/^function(hakmem_library_flags/,/^endfunction/p' "$flags" | grep -o -e ' -f[a-z][a-z0-9=-]*' | tr -d ' '
    sed -n 's/^foreach(name \(malloc .*\))$/\1/p' "$flags" | tr ' ' '\n'
} | grep -v -e '^-fsanitize' >"$work/expected"
{
    sed -n -e 's/^ *"\(-f[a-z][a-z0-9=-]*\)",$/\1/p' -e 's/^const LAST.*"\(.*\)";$/\1/p' build.rs
    sed -n '/^const NO_BUILTIN/,/^\]/s/^ *"\([a-z_]*\)",$/\1/p' build.rs
} >"$work/found"
expect_same 'the flags of build.rs against cmake/flags.cmake'
sed -n 's/^project(hakmem VERSION \([0-9.]*\).*/\1/p' "$TESTED_SOURCE_DIR/CMakeLists.txt" >"$work/expected"
sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml >"$work/found"
expect_same 'the version of Cargo.toml against CMakeLists.txt'

# Builds what it has packed, from nothing else.
export CARGO_TARGET_DIR="$work/target-package"
cargo package --offline --allow-dirty </dev/null >"$work/log" 2>&1 || { cat "$work/log" && fail 'cargo package'; }
tar -tvzf "$CARGO_TARGET_DIR"/package/hakmem-*.crate >"$work/list"
for file in c/crate.c c/src/hakmem.c c/src/options.def c/include/hakmem.h tests/names.rs README.md; do
    grep -q "^-.*/$file\$" "$work/list" || { cat "$work/list" && fail "the packaged crate has no $file"; }
done
echo passed
