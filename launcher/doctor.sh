# hakmem doctor [PID]: is it loaded, and what is wrong here. With a PID: is hakmem loaded in that process.
# Exit status 1 when something is wrong, 2 when there is no such process, or it may not be read, as of the other commands that take a
# PID; what is only slower or smaller than it could be is a note.

. "$root/launcher/install.sh"
. "$root/launcher/python.sh"
. "$root/launcher/preload.sh"

wrongs=0

fine() {
    printf '  ok     %s\n' "$*"
}

note() {
    printf '  note   %s\n' "$*"
}

wrong() {
    printf '  WRONG  %s\n' "$*"
    wrongs=$((wrongs + 1))
}

# check_others PID DIRECTORY: allocators that were preloaded before it, as the process was started.
check_others() {
    list=$({ tr '\0' '\n' <"$2/environ"; } 2>/dev/null | sed -n 's/^LD_PRELOAD=//p' | plain)
    for other in $(preloaded "$list"); do
        ! is_hakmem "$other" || return 0
        ! is_allocator "$other" || wrong "$other stands before it in LD_PRELOAD of process $1, and serves it: start it with LD_PRELOAD unset"
    done
}

# What a process, or its files, call themselves; what a terminal would obey becomes a question mark.
plain() {
    LC_ALL=C tr '\001-\011\013-\037\177' '[?*]'
}

# directory_of PID: where the kernel shows its memory; its first thread may have ended before others.
directory_of() {
    for task in "/proc/$1" "/proc/$1/task"/*; do
        grep -q '^State:.*zombie' "$task/status" 2>/dev/null || break
    done
    echo "/proc/${task##*/}"
}

check_process() {
    case $1 in
        '' | *[!0-9]*) refuse "'$1' is not a process id: hakmem doctor [PID]" ;;
    esac
    [ -d "/proc/$1" ] || refuse "there is no process $1"
    there=$(directory_of "$1")
    { true <"$there/maps"; } 2>/dev/null || refuse "the memory map of process $1 cannot be read: ask its user, or root"
    if grep -q '^State:.*zombie' "$there/status" 2>/dev/null; then
        refuse "process $1 has ended, and waits for its parent: it has no memory to look at"
    fi
    loaded=$(sed -n 's/.* \(\/.*libhakmem[^/]*\)$/\1/p' "$there/maps" | sort -u | plain)
    if [ -n "$loaded" ]; then
        fine "process $1 has loaded $loaded"
        check_others "$1" "$there"
    elif grep -qa HAKMEM_PURGE_DELAY "$there/exe" 2>/dev/null; then
        fine "process $1 is linked with hakmem's archive: $(readlink "$there/exe" | plain)"
    else
        wrong "process $1 has not loaded hakmem: start it with \`hakmem run -- CMD\`; programs that are static or setuid ignore LD_PRELOAD"
    fi
}

check_tools() {
    for tool in cmake ninja; do
        if command -v "$tool" >/dev/null 2>&1; then
            fine "$tool: $(command -v "$tool")"
        else
            note "$tool is not installed: the first build will install it"
        fi
    done
    if c_compiler_works; then
        fine "C compiler: $(${CC:-cc} --version 2>/dev/null | head -n 1)"
    else
        note "no working C compiler: the first build will install gcc"
    fi
}

check_tools_of_tests() {
    command -v cargo >/dev/null 2>&1 || note 'cargo is not installed: the first `hakmem peers` will install it, to make other allocators'
    command -v valgrind >/dev/null 2>&1 || note 'valgrind is not installed: `hakmem test` will install it, to count instructions'
}

# What the lab takes beside that.
check_lab() {
    reason=$(why_not_this_python)
    if [ -n "$reason" ]; then
        wrong "$reason"
    elif python_is_ready; then
        fine "Python packages of the lab: $venv"
    elif [ -z "$build_root" ]; then
        note "$no_build_root"
    else
        note 'no Python packages of the lab: the first explain, heap, top, ... will install them, some 370 MB'
    fi
    is_packaged || check_tools_of_tests
    scope=$(cat "${1:-/proc/sys/kernel/yama/ptrace_scope}" 2>/dev/null) || return 0
    if [ "$scope" = 0 ] || [ "$(id -u)" -eq 0 ]; then
        fine "kernel.yama.ptrace_scope=$scope"
    else
        note "kernel.yama.ptrace_scope=$scope: explain, heap, top and calls look only at what they have started, as with \`hakmem run --explain\`, or as root"
    fi
}

options_set() {
    env | sed -n 's/^\(HAKMEM_[A-Za-z0-9_]*\)=.*/\1/p'
}

# Whether a library loads is no question of the options that happen to be set.
first_words() (
    for name in $(options_set); do
        unset "$name"
    done
    LD_PRELOAD=$1 HAKMEM_VERBOSE=1 sh -c : 2>&1
)

check_libraries() {
    built=
    loads=
    if is_packaged; then again='install it again'; else again='rebuild it with `hakmem build`'; fi
    for variant in $library_variants; do
        library=$(library_of "$variant")
        [ -e "$library" ] || continue
        built=yes
        words=$(first_words "$library")
        case $words in
            hakmem*) loads=${loads:-$library} && fine "$variant loads: $(printf '%s\n' "$words" | head -n 1)" ;;
            *) wrong "$variant does not load from $library: ${words:-it is silent}; $again" ;;
        esac
    done
    is_packaged || check_place
    case ${installed_libraries:-$root} in
        *[\ :]*) wrong "the path ${installed_libraries:-$root} has a space or a colon, which LD_PRELOAD cannot carry: move it" ;;
    esac
}

# Where libraries are built.
check_place() {
    [ -n "$built" ] || note 'no library is built yet: `hakmem build`, or the first `hakmem run`, builds it'
    if [ -d "$build_root" ]; then place=$build_root; else place=$root; fi
    if [ -w "$place" ]; then
        :
    elif [ -n "$loads" ]; then
        note "$place cannot be written: what is built there works, and nothing can be built again"
    else
        wrong "$place cannot be written, where libraries are built: make it writable, or clone elsewhere"
    fi
}

check_system() {
    overcommit=$(cat /proc/sys/vm/overcommit_memory 2>/dev/null || echo unknown)
    case $overcommit in
        2) note 'vm.overcommit_memory=2: the system counts reservations; hakmem reserves less at a time' ;;
        *) fine "vm.overcommit_memory=$overcommit" ;;
    esac
    fine "vm.max_map_count=$(cat /proc/sys/vm/max_map_count 2>/dev/null || echo unknown)"
    limit=$(ulimit -v)
    case $limit in
        unlimited) fine 'no limit on address space' ;;
        *) note "ulimit -v is $limit KiB: large requests end in ENOMEM earlier" ;;
    esac
    huge=$(cat /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null || echo unknown)
    case $huge in
        *'[never]'*) note 'transparent huge pages are off: large heaps will have more TLB misses' ;;
        *) fine "transparent huge pages: $huge" ;;
    esac
    check_medium_pages "$huge" /sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled
}

# Linux 6.8 and later. Where huge pages come unasked hakmem asks for small ones, and gets none of 64 KiB.
check_medium_pages() {
    medium=$(cat "$2" 2>/dev/null) || return 0
    case $1:$medium in
        *'[always]'*:*) ;;
        *:*'[never]'*) note "pages of 64 KiB are off: with 'always' in $2 programs whose heaps grow are up to 1.1 times as fast, with up to 3 MB more each: $documents/experiments/pages-of-64k.md" ;;
        *) fine "pages of 64 KiB: $medium" ;;
    esac
}

check_environment() {
    [ -n "$preload" ] || fine 'LD_PRELOAD is empty'
    for other in $(preloaded "$preload"); do
        if [ "${other#*/}" != "$other" ] && [ ! -e "$other" ]; then
            wrong "LD_PRELOAD names $other, which is not there: every program says so, and runs without it; unset it"
        elif is_hakmem "$other"; then
            fine "LD_PRELOAD names $other: programs started from here run on it"
        elif is_allocator "$other"; then
            note "LD_PRELOAD names $other, an allocator: where it stands before hakmem it serves, and \`hakmem run\` cannot help it; unset it"
        else
            note "LD_PRELOAD names $other, which is no allocator"
        fi
    done
    env | sed -n 's/^\(HAKMEM_[A-Za-z0-9_]*\)=\(.*\)$/\1 \2/p' | while read -r name value; do
        if grep -q "\"$name\"" "$root/src/options.def" 2>/dev/null; then
            printf '  note   %s=%s is set\n' "$name" "$value"
        else
            printf '  note   %s=%s is no option of hakmem: see %s/options.md\n' "$name" "$value" "$documents"
        fi
    done
    check_options
}

# What a library says of the options that are set: a value that it ignores, or for which it refuses to run.
check_options() {
    [ -n "$loads" ] && [ -n "$(options_set)" ] || return 0
    said=$(LD_PRELOAD=$loads sh -c : 2>&1 | sed -n 's/^hakmem: \(\(ignored\|refused\) .*\)/\1/p' | grep -v '^ignored (no such option')
    case $said in
        '') ;;
        refused*) wrong "every program on hakmem ends with status 2: $(printf '%s\n' "$said" | head -n 1); correct or unset it, or HAKMEM_STRICT" ;;
        *) printf '%s\n' "$said" | sed 's/^/  note   /' ;;
    esac
}

hakmem_doctor() {
    case ${1-} in
        --help | -h) echo 'usage: hakmem doctor [PID]' && return 0 ;;
    esac
    preload=${LD_PRELOAD-}
    unset LD_PRELOAD # what is asked here is no program of yours, and a library that talks would be heard for each
    [ $# -le 1 ] || refuse "doctor takes one process at a time, not '$*': hakmem doctor [PID]"
    if [ $# -gt 0 ]; then
        check_process "$1"
    else
        is_packaged || check_tools
        check_lab
        check_libraries
        check_system
        check_environment
    fi
    [ "$wrongs" -eq 0 ]
}
