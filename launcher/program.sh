# Sourced by `hakmem run`: whether a command can be started at all, and words for it when it cannot. The shell itself would
# say no more than "not found", also of a script whose interpreter is missing.
#
# check_program NAME   returns when it can; else says why, and ends with 127 (something is missing) or 126 (not executable). Where it
#                      can, but nothing can be preloaded, that is said. Sets `linked_with` to musl for a program that is
# become NAME WORD...  the program in place of the shell; what the kernel refuses yet is no program of this machine

first_bytes=4096
carriage_return=$(printf '\r')

linked_with=

is_executable() {
    [ -f "$1" ] && [ -x "$1" ]
}

# find_program NAME: sets `program` to its path, itself or in PATH, not what only a shell knows; to nothing when it is not there. What
# lies in PATH but may not be executed is taken where nothing better comes.
find_program() {
    program=
    case $1 in
        */*) [ ! -e "$1" ] || program=$1 ;;
        *)
            rest=$PATH:
            while [ -n "$rest" ]; do
                candidate=${rest%%:*}
                candidate=${candidate:-.}/$1
                rest=${rest#*:}
                [ -f "$candidate" ] || continue
                program=${program:-$candidate}
                [ -x "$candidate" ] && program=$candidate && break
            done
            ;;
    esac
    [ -n "$program" ]
}

# cannot_run STATUS WORDS
cannot_run() {
    say "cannot run '$started': $2"
    exit "$1"
}

not_found() {
    say "command not found: $1"
    exit 127
}

# What the kernel starts in place of a script or a binary. check_starter FILE WHAT FIX
check_starter() {
    case $1 in
        *"$carriage_return") cannot_run 127 "its first line ends with a carriage return, as files from Windows do; take them out: sed -i 's/\\r\$//' '$started'" ;;
    esac
    find_program "$1" || cannot_run 127 "$2 '$1', which is not there; $3"
    is_executable "$program" || cannot_run 126 "$2 '$program', which is no file that may be executed; $3"
}

# check_script LINE: what stands behind #! is a file, perhaps env with the name of one in PATH.
check_script() {
    # shellcheck disable=SC2086 # the words of the line
    set -f && set -- $1 && set +f
    what='its first line names the interpreter'
    fix='install it, or correct that line'
    case ${1-} in
        '') return 0 ;;
        */*) check_starter "$1" "$what" "$fix" ;;
        *) check_starter "./$1" "$what" "$fix" ;;
    esac
    case ${1##*/}:${2-} in
        env: | env:-* | env:*=*) ;;
        env:*) check_starter "$2" "$what" "$fix" ;;
    esac
}

# first_strings FILE: what its first bytes have between zeros.
first_strings() {
    head -c $first_bytes "$1" 2>/dev/null | tr '\0' '\n'
}

# A program that no library can be preloaded into runs as it would alone: that is to be known. go_without REASON
go_without() {
    say "'$started' runs without hakmem: $1"
}

# numbers FILE TYPE AT BYTES: as od has them.
numbers() {
    od -A n -v -t "$2" -w"${5:-$4}" -j "$3" -N "$4" "$1" 2>/dev/null
}

# True of a file for 64 bits of whose program headers none names a loader (PT_INTERP, 3; elf(5)).
is_static() {
    # shellcheck disable=SC2046 # the numbers: class; where the headers are; how long one is, and how many they are
    set -- "$1" $(numbers "$1" u1 4 1) $(numbers "$1" u8 32 8) $(numbers "$1" u2 54 4)
    [ $# -eq 5 ] && [ "$2" -eq 2 ] && [ "$4" -eq 56 ] && [ "$5" -gt 0 ] &&
        ! numbers "$1" u4 "$3" $(($4 * $5)) "$4" | grep -q '^ *3 '
}

# check_loader FILE STRINGS: the first path among the first strings of a binary is its loader's, unless it is static.
check_loader() {
    while read -r line; do
        case $line in
            /*ld*.so*) check_starter "$line" 'it needs the loader' 'install the C library that it was linked with' ;;
            *) continue ;;
        esac
        case $line in
            */ld-linux.so.2 | */ld-linux-armhf.so.3) go_without 'it is a program of 32 bits; take a build of it for 64' ;;
            */ld-musl-*.so*) linked_with=musl ;;
        esac
        return
    done <<END_OF_STRINGS
$2
END_OF_STRINGS
    case ${1##*/} in
        ld*.so*) return 0 ;; # the loader, started with a program's name, preloads as ever
    esac
    ! is_static "$1" || go_without 'it is linked statically; take one that is linked dynamically, or link hakmem into it'
}

check_program() {
    if ! find_program "$1"; then
        case $1 in
            */*) [ ! -h "$1" ] || not_found "'$1' is a link to '$(readlink "$1")', which is not there" ;;
            *) not_found "'$1' is not a program in PATH; check its spelling, or give its path" ;;
        esac
        not_found "there is no file '$1'; check its spelling"
    fi
    started=$program
    is_executable "$program" || cannot_run 126 'it is no file that may be executed; try chmod +x, or name the program that reads it'
    strings=$(first_strings "$program")
    case $strings in
        '#!'*)
            line=${strings%%
*}
            check_script "${line#??}"
            started=$program
            strings=$(first_strings "$program")
            ;;
    esac
    [ ! -u "$program" ] || [ -O "$program" ] ||
        go_without 'it runs with the rights of its owner, for whom nothing is preloaded; run hakmem as that user'
    case $strings in
        "$(printf '\177ELF')"*) check_loader "$program" "$strings" ;;
    esac
}

become() {
    trap 'say "cannot run '"'\$started'"': the system does not know how to start it; is it a program, and for this machine?"' EXIT
    exec "$@"
}
