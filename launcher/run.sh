# hakmem run: any program, on hakmem. Builds the library first when it is not there or older than its sources.
#
# Prints nothing on standard output, leaves standard input alone, and becomes the program (exec): exit status,
# signals and process id are the program's own. With --explain, --heap, --calls or --trace the program is a child, held once at its
# exit and reported on on standard error; exit status and signals still are its own.

. "$root/launcher/build.sh"
. "$root/launcher/explain.sh"
. "$root/launcher/program.sh"
. "$root/launcher/preload.sh"

run_usage='hakmem run [--profile P] [--variant V] [--stats] [--explain] [--heap FILE] [--sample BYTES] [--calls] [--trace FILE] [--events N] -- CMD...'
usual_sample=512k
most_sampled=1073741824
usual_events=65536
most_events=16777216

run_help() {
    cat <<END
usage: $run_usage

  --profile P      speed (what it is without), balanced or lean: what memory is given for time ($documents/options.md)
  --variant V      $(printf '%s' "$library_variants" | sed 's/ /, /g'); standard without
  --stats          a summary of each process at its exit, on standard error ($documents/explain.md)
  --explain        where its resident memory is, at its exit, on standard error ($documents/explain.md)
  --heap FILE      which call paths hold its memory, at its exit: a table, and a profile for pprof ($documents/heap.md)
  --sample BYTES   of --heap: a sample for so many bytes that are allocated, $usual_sample without
  --calls          how long its calls take, at every percentile; takes the variant observe ($documents/calls.md)
  --trace FILE     the same, and the last calls of each thread as CSV
  --events N       of --trace: so many calls of each thread, $usual_events without

The program's own are its standard input and output, its exit status and signals.
END
}

check_profile() {
    # shellcheck disable=SC2086
    is_one_of "$1" $profiles || refuse "unknown profile '$1': use one of speed, balanced, lean"
}

check_variant() {
    # shellcheck disable=SC2086
    is_one_of "$1" $library_variants || refuse "unknown variant '$1': use one of $library_variants"
}

# check_file OPTION NAME: the next option, or --, is no name: a file would be made of it, and what stands behind it be run.
check_file() {
    case $2 in
        '') refuse "$1 needs the name of a file: $run_usage" ;;
        -*) refuse "$1 needs the name of a file, not '$2' (a file of that name is ./$2): $run_usage" ;;
    esac
}

check_heap() {
    check_file --heap "$1"
}

check_trace() {
    check_file --trace "$1"
}

check_events() {
    case $1 in
        '' | *[!0-9]* | ?????????*) ;;
        *) [ "$1" -lt 1 ] || [ "$1" -gt $most_events ] || return 0 ;;
    esac
    refuse "--events is a number of calls of each thread, from 1 to $most_events, not '$1'"
}

# check_sample VALUE [NAME]: as the library reads bytes: digits, and perhaps one letter.
check_sample() {
    case $1 in
        *[kK]) unit=1024 ;;
        *[mM]) unit=1048576 ;;
        *[gG]) unit=1073741824 ;;
        *) unit=1 ;;
    esac
    case ${1%[kKmMgG]} in
        '' | *[!0-9]*) refuse "${2:---sample} is a number of bytes, as 512k or 1, not '$1'" ;;
        ????????????*) ;;
        *) [ "${1%[kKmMgG]}" -gt $((most_sampled / unit)) ] || return 0 ;;
    esac
    refuse "${2:---sample} is at most 1g, not '$1'"
}

takes_none() {
    case ${1%[kKmMgG]} in
        '' | *[!0]*) return 1 ;;
    esac
}

# A profile takes samples, also where the environment says that none are taken.
choose_sample() {
    [ -n "$heap" ] || return 0
    ! takes_none "$sample" || refuse "--heap needs samples, and --sample $sample takes none: leave it out, or give another, as 512k"
    [ -n "$sample" ] || [ -z "${HAKMEM_HEAP_SAMPLE:-}" ] || check_sample "$HAKMEM_HEAP_SAMPLE" HAKMEM_HEAP_SAMPLE
    sample=${sample:-${HAKMEM_HEAP_SAMPLE:-$usual_sample}}
    ! takes_none "$sample" || sample=$usual_sample
}

# Calls can be timed and kept in one variant only.
choose_variant() {
    [ -z "$events" ] || [ -n "$trace" ] || refuse "--events says how many calls --trace FILE keeps: give both"
    if [ -n "$calls$trace" ]; then
        [ "${variant:-observe}" = observe ] ||
            refuse "--calls and --trace take the variant observe, not $variant: leave --variant out"
        variant=observe
    fi
    variant=${variant:-standard}
}

# A program that is linked with musl takes the library that is compiled for it. Where musl is the system's libc, which the shell tells, every variant is.
choose_libc() {
    [ "$linked_with" = musl ] || return 0
    case $(first_strings "$(command -v sh)") in
        */ld-musl-*) return 0 ;;
    esac
    [ "$variant" = standard ] ||
        cannot_run 126 "it is linked with musl, for which there is the standard variant alone, not $variant"
    variant=musl
    ! is_packaged || [ -e "$(library_of musl)" ] ||
        cannot_run 126 "it is linked with musl, and the library for that is not installed: there is no $(library_of musl)"
}

# Another allocator in LD_PRELOAD comes first, and the one asked for is never used.
warn_of_others() {
    for other in $(preloaded); do
        [ "$other" = "$library" ] || ! is_allocator "$other" ||
            say "LD_PRELOAD names $other already, which comes first: $library will not be used; unset LD_PRELOAD"
    done
}

hakmem_run() {
    profile=
    variant=
    stats=
    explain=
    heap=
    sample=
    calls=
    trace=
    events=
    while [ $# -gt 0 ]; do
        case $1 in
            --profile | --variant | --heap | --sample | --trace | --events)
                [ $# -ge 2 ] || refuse "$1 needs a value: $run_usage"
                option=${1#--} value=$2
                shift 2
                ;;
            --profile=* | --variant=* | --heap=* | --sample=* | --trace=* | --events=*)
                option=${1%%=*} value=${1#*=}
                option=${option#--}
                shift
                ;;
            --stats) stats=yes && shift && continue ;;
            --explain) explain=yes && shift && continue ;;
            --calls) calls=yes && shift && continue ;;
            --help | -h) tell_all run_help && return 0 ;;
            --) shift && break ;;
            -*) refuse "unknown option '$1': $run_usage" ;;
            *) break ;;
        esac
        "check_$option" "$value"
        case $option in
            profile) profile=$value ;;
            variant) variant=$value ;;
            heap) heap=$value ;;
            sample) sample=$value ;;
            trace) trace=$value ;;
            events) events=$value ;;
        esac
    done
    choose_variant
    choose_sample
    [ $# -gt 0 ] || refuse "no command given: $run_usage"
    [ -n "$1" ] || refuse "the command is empty: $run_usage"
    check_program "$1"
    choose_libc
    library=$(library_of "$variant")
    case $library in
        *[\ :]*) fail "the path '$library' has a space or a colon, which LD_PRELOAD cannot carry: move the tree" ;;
    esac
    ensure_built "$variant" || exit 1
    [ -z "$profile" ] || export HAKMEM_PROFILE="$profile"
    [ -z "$stats" ] || export HAKMEM_STATS=1
    [ -z "$sample" ] || export HAKMEM_HEAP_SAMPLE="$sample"
    [ -z "$calls" ] || export HAKMEM_LATENCY=1
    [ -z "$trace" ] || export HAKMEM_TRACE="${events:-$usual_events}"
    warn_of_others
    [ -z "$calls$trace" ] || look_from_outside calls --run "$library" ${explain:+--explain} ${heap:+--heap "$heap"} \
        ${trace:+--trace "$trace"} -- "$@"
    [ -z "$heap" ] || look_from_outside heap --run "$library" ${explain:+--explain} --output "$heap" -- "$@"
    [ -z "$explain" ] || hakmem_explain --run "$library" -- "$@"
    export LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$library"
    become "$@"
}
