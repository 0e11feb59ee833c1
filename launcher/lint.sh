# hakmem lint: formatting, the house rules, generated documents, and warnings of two compilers in every variant.
# Runs all parts, says for each whether it passed, and names the failed ones in the last line.

. "$root/launcher/install.sh"

warning_flags='-std=c11 -O2 -fPIC -Wall -Wextra -Wpedantic -Wshadow -Werror'

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
    (cd "$root" && tree_files c h cc cpp hpp | xargs clang-format-14 --dry-run -Werror)
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

# Each variant as it ships, then each room alone.
lint_warnings() {
    compiler=$1
    status=0
    if ! command -v "$compiler" >/dev/null 2>&1; then
        echo "$compiler is not installed"
        return 1
    fi
    for variant in STANDARD FAST OBSERVE HARDENED CHECK; do
        for source in "$root"/src/*.c; do
            case $source in
                */hakmem.c) action='-c -o /dev/null' ;;
                *) action=-fsyntax-only ;;
            esac
            # shellcheck disable=SC2086 # lists of flags
            "$compiler" $warning_flags "-DHAKMEM_VARIANT_$variant" "-I$root/src" "-I$root/include" \
                $action "$source" || status=1
        done
    done
    return $status
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
    offer clang-14 clang-format-14 gcc python3
    failed_parts=
    lint_part format lint_format
    lint_part house lint_house
    lint_part documents lint_docs
    lint_part shell lint_shell
    lint_part gcc-warnings lint_warnings gcc
    lint_part clang-warnings lint_warnings clang-14
    [ -z "$failed_parts" ] || fail "lint failed:$failed_parts"
    say 'lint passed'
}
