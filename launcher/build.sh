# Builds the library of a variant in build/<variant>, quietly unless it fails.
#
# ensure_built VARIANT   does nothing when the library was built after every source was last changed; else builds.
# compile VARIANT TARGET [CMAKE_OPTION...]   configures and builds, to be called inside with_build_lock
#
# A lock on build/.lock lets one builder in at a time: runs that start together wait for the first one, and its end
# releases the lock whatever happened. build/<variant>/.built is made last and removed first, so that nobody takes
# a library that is still being written.

. "$root/launcher/install.sh"

is_fresh() {
    stamp=$build_root/$1/.built
    [ -e "$stamp" ] && [ -e "$(library_of "$1")" ] || return 1
    newer=$(find -L "$root/src" "$root/include" "$root/cmake" "$root/packaging" "$root/CMakeLists.txt" \
        "$root/CMakePresets.json" -type f -newer "$stamp" 2>/dev/null | head -n 1)
    [ -z "$newer" ]
}

# Runs a command with its output in a log that is shown only when it fails.
quietly() {
    log=$1
    shift
    "$@" >"$log" 2>&1 </dev/null && return 0
    tail -n 60 "$log" >&2
    return 1
}

compile() {
    variant=$1
    target=$2
    shift 2
    directory=$build_root/$variant
    mkdir -p "$directory" 2>/dev/null && [ -w "$directory" ] ||
        fail "cannot write in $directory: make it writable, or clone elsewhere"
    cd "$root" || return 1
    if ! quietly "$directory/configure.log" cmake --preset "$variant" "$@"; then
        # What an interrupted or moved build left behind is not worth keeping.
        rm -rf "$directory/CMakeCache.txt" "$directory/CMakeFiles"
        quietly "$directory/configure.log" cmake --preset "$variant" "$@" || return 1
    fi
    # A file of the same second as the stamp counts as older: what changes from now on must not.
    rm -f "$directory/.built"
    touch "$directory/.building"
    quietly "$directory/build.log" cmake --build "$directory" --target "$target" -- -k 0 || return 1
    mv "$directory/.building" "$directory/.built"
}

with_build_lock() {
    need_build_root
    (
        if command -v flock >/dev/null 2>&1 && ! flock -n 9; then
            say 'waiting for another build of this tree'
            flock 9 || fail "cannot lock $build_root/.lock"
        fi
        "$@" 9>&-
    ) 9>"$build_root/.lock"
}

build_if_stale() {
    is_fresh "$1" && return 0
    need_to_build "$1"
    [ ! -t 2 ] || say "building the $1 variant in build/$1"
    compile "$1" library || fail "building the $1 variant failed (above: the end of its log in build/$1)"
}

ensure_built() {
    ! is_packaged || { need_installed "$1" && return; }
    is_fresh "$1" || with_build_lock build_if_stale "$1"
}

hakmem_build() {
    case ${1-} in
        --help | -h) tell "usage: hakmem build [VARIANT...]     VARIANT: $test_variants" && return 0 ;;
    esac
    # shellcheck disable=SC2086 # lists of words
    [ $# -gt 0 ] || set -- $shipped_variants
    for name in "$@"; do
        # shellcheck disable=SC2086
        is_one_of "$name" $test_variants || refuse "unknown variant '$name': use one of $test_variants"
    done
    for name in "$@"; do
        ensure_built "$name" || exit 1
        say "built $(library_of "$name")"
    done
}
