# The Rust crate in programs that are linked with musl, which are static: its own tests, but for those of plugins and of names
# that are looked up.

set -eu
. "$TESTED_SOURCE_DIR/launcher/rust.sh"
work=$(mktemp -d "$TESTED_BUILD_DIR/rust.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 143' TERM INT HUP
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CFLAGS LD_PRELOAD
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0 CARGO_BUILD_JOBS=2 CARGO_TERM_COLOR=never
CARGO_BUILD_TARGET=$(uname -m)-unknown-linux-musl
export CARGO_BUILD_TARGET

if reason=$(no_crate "$TESTED_SOURCE_DIR" "$work"); then
    echo "SKIP: $reason"
    exit 77
fi
if [ ! -d "$(rustc --print target-libdir --target "$CARGO_BUILD_TARGET")" ]; then
    echo "SKIP: there is no Rust for $CARGO_BUILD_TARGET: rustup target add $CARGO_BUILD_TARGET"
    exit 77
fi
cd "$work/bindings/rust"
# test_with FEATURES TEST...: each in a place of its own
test_with() {
    features=$1
    shift
    CARGO_TARGET_DIR="$work/target-$features" cargo test --offline --quiet --features "$features" --lib "$@" </dev/null
}
test_with '' --test global --test layouts --test life
# Where libc calls, too, nothing runs beside a program without a dynamic linker: life expects that.
test_with override --test global --test layouts
