# Words to the person: they go to standard error, for standard output belongs to the program that is run. What was asked for, as
# help, goes to standard output, and is an error when it cannot be written.

say() {
    printf 'hakmem: %s\n' "$*" >&2
}

# Cannot be done here: exit 1.
fail() {
    say "$*"
    exit 1
}

# Asked for wrongly: name the value and what to write instead, exit 2.
refuse() {
    say "$*"
    exit 2
}

# tell WORDS: on standard output.
tell() {
    printf '%s\n' "$*" 2>/dev/null || fail 'cannot write on standard output: make room, or send it to a place that can be written'
}

# tell_all COMMAND...: what a command of ours has to tell, once it has ended, and its exit status.
tell_all() {
    told=$("$@")
    status=$?
    [ -z "$told" ] || tell "$told"
    return $status
}

library_variants='standard fast observe hardened check'
shipped_variants='standard fast observe hardened'
test_variants='standard fast observe hardened check asan ubsan tsan aarch64 musl'
profiles='speed balanced lean MIXED_TINYV3_C7_SAFE MIXED_TINYV3_C7_BALANCED'

# is_one_of VALUE WORD...
is_one_of() {
    wanted=$1
    shift
    for word in "$@"; do
        [ "$word" = "$wanted" ] && return 0
    done
    return 1
}

# The file that is preloaded for a variant.
library_of() {
    case $1 in
        standard | aarch64) file=libhakmem.so ;;
        *) file=libhakmem-$1.so ;;
    esac
    printf '%s/%s\n' "${installed_libraries:-$build_root/$1}" "$file"
}

elsewhere='clone elsewhere'
no_build_root='neither HOME nor XDG_CACHE_HOME is set, and explain, heap, top and calls keep Python packages there: set one of them'

need_build_root() {
    [ -n "$build_root" ] || refuse "$no_build_root"
    mkdir -p "$build_root" 2>/dev/null && [ -w "$build_root" ] ||
        fail "cannot write in $build_root: make it writable, or $elsewhere"
}
