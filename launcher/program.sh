# Sourced by `hakmem run`: whether a command can be started at all, and words for it when it cannot. The shell itself would
# say no more than "not found", also of a script whose interpreter is missing.
#
# check_program NAME   returns when it can; else says why, and ends with 127 (something is missing) or 126 (not executable)
# become NAME WORD...  the program in place of the shell; what the kernel refuses yet is no program of this machine

first_bytes=4096
carriage_return=$(printf '\r')

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

# check_loader STRINGS: the first path among the strings of a binary is its loader's, unless it is static.
check_loader() {
    while read -r line; do
        case $line in
            /*ld*.so*) check_starter "$line" 'it needs the loader' 'install the C library that it was linked with' && return ;;
        esac
    done <<END_OF_STRINGS
$1
END_OF_STRINGS
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
    strings=$(head -c $first_bytes "$program" 2>/dev/null | tr '\0' '\n')
    case $strings in
        '#!'*)
            line=${strings%%
*}
            check_script "${line#??}"
            ;;
        "$(printf '\177ELF')"*) check_loader "$strings" ;;
    esac
}

become() {
    trap 'say "cannot run '"'\$started'"': the system does not know how to start it; is it a program, and for this machine?"' EXIT
    exec "$@"
}
