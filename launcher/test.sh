# hakmem test: installs what tests need, builds every variant with its tests, runs them, and sums up.
#
# A variant that fails does not stop the next one, and a test that does not build does not stop the others. The end of the output is made for a log of which only the tail is
# kept: each failed test's last lines again, then one row per variant, then "N passed, N failed, N skipped".

. "$root/launcher/build.sh"
. "$root/launcher/python.sh"

test_packages() {
    echo g++ python3 python3-venv libcmocka-dev
    # shellcheck disable=SC2086
    if is_one_of aarch64 $wanted; then
        echo gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
    fi
    # shellcheck disable=SC2086
    ! is_one_of musl $wanted || echo musl-tools
    cat "$root"/tests/*/packages.txt 2>/dev/null | sed 's/#.*//'
}

prepare() {
    need_to_build
    # shellcheck disable=SC2046
    offer $(test_packages | tr -s ' \t' '\n\n' | sed '/^$/d' | sort -u)
    prepare_python || say 'could not install them (above: the end of build/venv.log): the tests that need them will be skipped'
}

# Nothing of the caller's may change what is tested.
clean_environment() {
    for name in $(env | sed -n 's/^\(HAKMEM_[A-Za-z0-9_]*\|MALLOC_[A-Za-z0-9_]*\)=.*/\1/p'); do
        unset "$name"
    done
    unset LD_PRELOAD GLIBC_TUNABLES
    export PYTHONDONTWRITEBYTECODE=1
}

# Reads ctest's JUnit file: one line "passed failed skipped", then "failed NAME" and "skipped NAME" lines.
read_results() {
    awk '
        function attribute(name,    rest) {
            if (!match($0, " " name "=\"[^\"]*\"")) return ""
            rest = substr($0, RSTART, RLENGTH)
            sub(/^[^"]*"/, "", rest); sub(/"$/, "", rest)
            return rest
        }
        function close_case() {
            if (test == "") return
            if (state == "run") passed++
            else if (state == "notrun" && skip) { skipped++; names = names "skipped " test "\n" }
            else { failed++; names = names "failed " test "\n" }
            test = ""
        }
        /<testcase / { close_case(); test = attribute("name"); state = attribute("status"); skip = 0 }
        /<skipped message="SKIP_/ { skip = 1 }
        END { close_case(); printf "%d %d %d\n%s", passed, failed, skipped, names }
    ' "$1"
}

# output_of FILE TEST: what the test printed, from the same file.
output_of() {
    awk -v wanted="$2" '
        /<testcase / { inside = index($0, " name=\"" wanted "\"") > 0 }
        inside && /<system-out>/ { printing = 1; sub(/.*<system-out>/, "") }
        printing && /<\/system-out>/ { sub(/<\/system-out>.*/, ""); print; exit }
        printing { print }
    ' "$1" | sed 's/&lt;/</g; s/&gt;/>/g; s/&quot;/"/g; s/&apos;/'"'"'/g; s/&amp;/\&/g'
}

# note_row VARIANT PASSED FAILED SKIPPED SECONDS NAMES; a row that is lost must not look like one without failures
note_row() {
    printf '%-9s %7d %7d %8d %8d  %s\n' "$@" >>"$summary/rows" && printf '%d %d %d\n' "$2" "$3" "$4" >>"$summary/counts" ||
        fail "cannot write in $summary: make room there, or set TMPDIR to another directory"
}

note_results() {
    results=$(read_results "$2")
    # shellcheck disable=SC2046
    set -- "$1" "$2" $(printf '%s\n' "$results" | head -n 1)
    names=${broken:+ (build)}
    if [ "$4" -eq 0 ] && [ "$ctest_status" -ne 0 ]; then # it knows of a failure that its results do not show
        broken=1 names="$names (ctest: exit status $ctest_status)"
    fi
    for name in $(printf '%s\n' "$results" | sed -n 's/^failed //p'); do
        names="$names $name"
        {
            printf '==== %s: %s failed; its last lines:\n' "$1" "$name"
            output_of "$2" "$name" | tail -n 60
        } >>"$summary/failures"
    done
    for name in $(printf '%s\n' "$results" | sed -n 's/^skipped //p'); do
        printf '%s: %s skipped: %s\n' "$1" "$name" "$(output_of "$2" "$name" | sed '/^[[:space:]]*$/d' | tail -n 1)" >>"$summary/skips"
    done
    note_row "$1" "$3" "$(($4 + ${broken:-0}))" "$5" "$(($(date +%s) - started))" "$names"
}

note_build_failure() {
    {
        printf '==== %s: the build failed; the last lines of its logs:\n' "$1"
        tail -n 60 "$build_root/$1/configure.log" "$build_root/$1/build.log" 2>/dev/null
    } >>"$summary/failures"
}

# compiler_of VARIANT: the one that its preset names, or nothing.
compiler_of() {
    case $1 in
        aarch64) echo aarch64-linux-gnu-gcc ;;
        musl) echo musl-gcc ;;
    esac
}

# test_variant VARIANT | lab: the tests of the lab alone are tests of the standard variant with the label lab.
test_variant() {
    variant_tested=$1
    target=all
    label=
    if [ "$1" = lab ]; then
        variant_tested=standard target=library label='^lab$'
    fi
    started=$(date +%s)
    say "== $variant_tested: building"
    compiler=$(compiler_of "$variant_tested")
    if [ -n "$compiler" ] && ! command -v "$compiler" >/dev/null 2>&1; then
        echo "$variant_tested: all skipped: no $compiler" >>"$summary/skips"
        note_row "$variant_tested" 0 0 1 0 ''
        return 0
    fi
    directory=$build_root/$variant_tested
    broken=
    if ! with_build_lock compile "$variant_tested" "$target" -DHAKMEM_TESTS=ON; then
        broken=1
        note_build_failure "$variant_tested"
        if ! (ensure_built "$variant_tested") 2>/dev/null; then
            note_row "$variant_tested" 0 1 0 "$(($(date +%s) - started))" ' (build)'
            return 0
        fi
        say "== $variant_tested: a part of it did not build: what did is tested"
    fi
    results=$directory/tests.xml
    rm -f "$results"
    say "== $variant_tested: running the tests"
    ctest_status=0
    ctest --test-dir "$directory" -j 2 --output-on-failure --timeout 300 --repeat after-timeout:2 \
        --no-tests=ignore ${label:+-L "$label"} --output-junit "$results" </dev/null || ctest_status=$?
    if [ -s "$results" ]; then
        note_results "$variant_tested" "$results"
    else
        printf '==== %s: ctest left no results\n' "$variant_tested" >>"$summary/failures"
        note_row "$variant_tested" 0 1 0 "$(($(date +%s) - started))" ' (ctest)'
    fi
}

# print_summary VARIANTS: as many as were asked for. False: a test failed.
print_summary() {
    for part in skips failures; do
        [ ! -s "$summary/$part" ] || { echo; cat "$summary/$part"; }
    done
    echo
    printf '%-9s %7s %7s %8s %8s  %s\n' variant passed failed skipped seconds 'failed tests'
    cat "$summary/rows"
    awk -v wanted="$1" '{ p += $1; f += $2; s += $3 }
        END { printf "%d passed, %d failed, %d skipped%s\n", p, f, s, NR < wanted ? "; not all variants were tested" : ""
              exit f > 0 }' "$summary/counts"
}

# Ctrl-C: what was tested until then is said.
stop_tests() {
    trap - INT TERM HUP
    [ ! -s "$summary/counts" ] || print_summary "$2"
    say 'interrupted'
    exit "$1"
}

hakmem_test() {
    case ${1-} in
        --help | -h) tell "usage: hakmem test [VARIANT...]     VARIANT: $test_variants lab" && return 0 ;;
    esac
    # shellcheck disable=SC2086 # lists of words
    [ $# -gt 0 ] || set -- $test_variants
    for name in "$@"; do
        # shellcheck disable=SC2086
        is_one_of "$name" $test_variants lab || refuse "unknown variant '$name': use one of $test_variants lab"
    done
    wanted=$*
    clean_environment
    with_build_lock prepare || exit 1
    summary=$(mktemp -d) || fail 'cannot make a temporary directory: set TMPDIR to one that is writable'
    trap 'rm -rf "$summary"' EXIT
    # shellcheck disable=SC2064 # how many is known now
    trap "stop_tests 130 $#" INT
    # shellcheck disable=SC2064
    trap "stop_tests 143 $#" TERM HUP
    for name in $wanted; do
        test_variant "$name"
    done
    print_summary $#
}
