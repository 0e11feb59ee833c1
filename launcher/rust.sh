# Sourced by `hakmem lint` and by tests/bindings: the Rust crate of bindings/rust, built in a copy of the tree, for cargo
# writes beside what it builds.

# older_than VERSION: cargo is. A version is 1.NUMBER.
older_than() {
    minor=$(cargo --version 2>/dev/null | sed -n 's/^cargo 1\.\([0-9]*\).*/\1/p')
    [ "${minor:-0}" -lt "${1#1.}" ]
}

# no_crate TREE DIRECTORY: copies what the crate is made of from TREE to DIRECTORY, the crate itself to DIRECTORY/bindings/rust.
# Succeeds, and says why, when it cannot be built here; otherwise `cargo --offline` has all it needs.
no_crate() {
    crate=$2/bindings/rust
    wanted=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' "$1/bindings/rust/Cargo.toml")
    if ! command -v cargo >/dev/null 2>&1; then
        echo "there is no cargo (Rust $wanted or newer)"
    elif older_than "$wanted"; then
        echo "$(cargo --version 2>&1 | head -n 1) is older than $wanted"
    else
        rm -rf "$2/src" "$2/include" "$2/bindings"
        mkdir -p "$2"
        (cd "$1" && tar -cf - --exclude=bindings/rust/target --exclude=Cargo.lock src include bindings/rust) |
            (cd "$2" && tar -xf -)
        (cd "$crate" && { cargo metadata --offline --format-version 1 || cargo fetch; }) >"$2/fetch.log" 2>&1 </dev/null &&
            return 1
        echo "cargo cannot fetch the crate cc: $(tail -n 1 "$2/fetch.log")"
    fi
}
