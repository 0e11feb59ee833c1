# hakmem lint: formatting, the house rules, generated documents, warnings of two compilers in every variant, and the Rust
# crate where there is cargo. Runs all parts, says for each whether it passed, and names the failed ones in the last line.

. "$root/launcher/install.sh"
. "$root/launcher/rust.sh"

# The files of the tree with one of these endings: those git knows or would add, else all outside build.
tree_files() {
    for ending in "$@"; do
        git -C "$root" ls-files -co --exclude-standard -- "*.$ending" 2>/dev/null ||
            (cd "$root" && find . -path ./build -prune -o -type f -name "*.$ending" -print)
    done
}

lint_format() {
    if ! command -v clang-format-14 >/dev/null 2>&1; then
        echo 'clang-format-14 is not installed (other versions format differently)'
        return 1
    fi
    (cd "$root" && tree_files c h cc cpp hpp | sort -u | xargs clang-format-14 --dry-run -Werror) 2>&1 |
        sed -n 's/: error: code should be clang-formatted.*/: not formatted/p' >"$build_root/lint.log"
    awk -F: '!seen[$1]++ { print $0 } END { exit NR > 0 }' "$build_root/lint.log"
}

lint_house() {
    python3 "$root/tools/check_house.py"
}

lint_docs() {
    [ ! -e "$root/tools/gen_docs.py" ] || python3 "$root/tools/gen_docs.py" --check
}

lint_shell() {
    status=0
    for script in hakmem $(tree_files sh); do
        case $(head -n 1 "$root/$script") in
            *bash*) bash -n "$root/$script" || status=1 ;;
            *) sh -n "$root/$script" || status=1 ;;
        esac
    done
    return $status
}

# compiles_cleanly COMPILER SOURCE VARIANT: the whole library is compiled, a room by itself only checked.
compiles_cleanly() {
    case $2 in
        */hakmem.c) action='-O2 -fPIC -c -o /dev/null' ;;
        *) action=-fsyntax-only ;;
    esac
    # shellcheck disable=SC2086 # a list of flags
    "$1" -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Werror "-DHAKMEM_VARIANT_$3" "-I$root/src" "-I$root/include" \
        $action "$2" >"$log" 2>&1 && return 0
    head -n 20 "$log"
    echo "(above: $2 with $1, variant $3)"
    return 1
}

# Each variant as it ships, and each room alone; of a source that fails only the first variant is shown.
lint_warnings() {
    if ! command -v "$1" >/dev/null 2>&1; then
        echo "$1 is not installed"
        return 1
    fi
    status=0
    log=$build_root/lint.log
    for source in "$root"/src/*.c; do
        for variant in STANDARD FAST OBSERVE HARDENED CHECK; do
            compiles_cleanly "$1" "$source" "$variant" || { status=1 && break; }
        done
    done
    return $status
}

lint_rust() {
    (cd "$build_root/rust/bindings/rust" && cargo fmt --check && CARGO_TARGET_DIR="$build_root/rust/target" \
        cargo clippy --offline --quiet --all-targets -- -D warnings) </dev/null
}

lint_part() {
    title=$1
    shift
    if "$@"; then
        say "lint: $title: passed"
    else
        say "lint: $title: FAILED"
        failed_parts="$failed_parts $title"
    fi
}

hakmem_lint() {
    case ${1-} in
        '') ;;
        --help | -h) tell 'usage: hakmem lint' && return 0 ;;
        *) refuse "lint takes no argument, not '$1': hakmem lint" ;;
    esac
    need_build_root
    offer clang-14 clang-format-14 gcc python3
    failed_parts=
    lint_part format lint_format
    lint_part house lint_house
    lint_part documents lint_docs
    lint_part shell lint_shell
    lint_part gcc-warnings lint_warnings gcc
    lint_part clang-warnings lint_warnings clang-14
    if reason=$(no_crate "$root" "$build_root/rust"); then
        say "lint: rust: not checked: $reason"
    elif ! cargo fmt --version >/dev/null 2>&1 || ! cargo clippy --version >/dev/null 2>&1; then
        say 'lint: rust: not checked: cargo has no rustfmt or clippy here'
    else
        lint_part rust lint_rust
    fi
    [ -z "$failed_parts" ] || fail "lint failed:$failed_parts"
    say 'lint passed'
}
