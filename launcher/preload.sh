# What LD_PRELOAD names, and which of it is an allocator: the first one that defines malloc serves the program.

# preloaded [LIST]: a word each.
preloaded() {
    printf '%s' "${1-${LD_PRELOAD-}}" | tr ':' ' '
}

# is_hakmem LIBRARY
is_hakmem() {
    case ${1##*/} in
        libhakmem*) return 0 ;;
    esac
    return 1
}

# is_allocator LIBRARY: whether it defines malloc; where nothing reads symbols, whether it is called as those are that do.
is_allocator() {
    case ${1##*/} in
        lib*malloc*) return 0 ;;
    esac
    is_hakmem "$1" || readelf -W --dyn-syms "$1" 2>/dev/null | grep -q ' FUNC .* [0-9][0-9]* malloc\(@.*\)\{0,1\}$'
}
