#!/usr/bin/env bash
# Fetches and builds the peer "mimalloc": build/peers/libmimalloc3.so and libmimalloc2.so.
#
# The sources come from crates.io (the crate libmimalloc-sys2 carries both lines), fetched by cargo itself
# from a generated one-dependency project, so that cargo's own checksum check guards them. Each is built by
# mimalloc's own CMake file as its authors ship it: Release (-O3 -DNDEBUG), malloc override on.
#
# Variables: CRATE_VERSION (default 0.1.65), PEERS_DIR (default build/peers), FORCE=1 builds again.
# Prints one line per library: its path and its version. Says and exits with 2 when a tool is missing.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
crate_version=${CRATE_VERSION:-0.1.65}
peers=${PEERS_DIR:-$root/build/peers}
work=$peers/mimalloc-$crate_version

for tool in cargo cmake cc readelf; do
    if ! command -v "$tool" >/dev/null; then
        echo "get_mimalloc: '$tool' is needed (Debian packages: cargo cmake gcc binutils)" >&2
        exit 2
    fi
done

fetch() {
    [ -d "$work/vendor/libmimalloc-sys2" ] && return
    mkdir -p "$work"
    cat >"$work/Cargo.toml" <<END
[package]
name = "hakmem-peers"
version = "0.0.0"
edition = "2021"
[lib]
path = "empty.rs"
[dependencies]
libmimalloc-sys2 = "=$crate_version"
[workspace]
END
    : >"$work/empty.rs"
    echo "get_mimalloc: fetching libmimalloc-sys2 $crate_version with cargo" >&2
    (cd "$work" && cargo vendor --quiet vendor >/dev/null)
}

# MI_MALLOC_VERSION is 3060 or 30600 for 3.6.0, by line.
version_of() {
    local number
    number=$(sed -n 's/^#define MI_MALLOC_VERSION *\([0-9]*\).*/\1/p' "$1/include/mimalloc.h")
    case ${#number} in
        3) echo "${number:0:1}.${number:1:1}.${number:2:1}" ;;
        *) echo "${number:0:1}.$((10#${number:1:2})).$((10#${number:3}))" ;;
    esac
}

build() {
    local source=$work/vendor/libmimalloc-sys2/c_src/$1 library=$peers/$2
    if [ ! -e "$library" ] || [ -n "${FORCE:-}" ]; then
        echo "get_mimalloc: building $(basename "$library")" >&2
        cmake -S "$source" -B "$work/$1" -DCMAKE_BUILD_TYPE=Release -DMI_OVERRIDE=ON -DMI_BUILD_STATIC=OFF \
            -DMI_BUILD_OBJECT=OFF -DMI_BUILD_TESTS=OFF >"$work/$1.log" 2>&1 &&
            cmake --build "$work/$1" >>"$work/$1.log" 2>&1 || {
            tail -n 20 "$work/$1.log" >&2
            exit 1
        }
        cp -L "$work/$1/libmimalloc.so" "$library.new"
        mv "$library.new" "$library"
        # The name that a program linked to it looks for.
        ln -sf "$2" "$peers/$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\].*/\1/p')"
    fi
    version_of "$source" >"$library.version"
    echo "$library mimalloc $(cat "$library.version")"
}

fetch
build mimalloc3 libmimalloc3.so
build mimalloc libmimalloc2.so
