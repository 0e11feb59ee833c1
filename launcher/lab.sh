# hakmem bench | soak | tail | ab | scorecard | peers: the measurement lab, a Python package in lab/.
#
# Makes the Python environment and what the command builds with, once, then becomes Python (exec).

. "$root/launcher/build.sh"
. "$root/launcher/python.sh"

# What making the other allocators takes; without it they are reported as not to be had.
offer_peer_tools() {
    lacking=
    command -v cargo >/dev/null 2>&1 || lacking="$lacking cargo"
    command -v make >/dev/null 2>&1 || lacking="$lacking make"
    command -v c++ >/dev/null 2>&1 || lacking="$lacking g++"
    # shellcheck disable=SC2086 # a list of package names
    [ -z "$lacking" ] || offer $lacking
}

prepare_lab() {
    need_to_build
    prepare_python || fail 'the lab needs these Python packages (above: the end of build/venv.log); try again when they can be fetched'
    case $1 in
        peers | bench | scorecard) offer_peer_tools ;;
    esac
}

# lab_is_ready COMMAND: only some of them make other allocators.
lab_is_ready() {
    python_is_ready || return 1
    case $1 in
        peers | bench | scorecard) tools='cmake ninja cargo make c++' ;;
        *) tools='cmake ninja' ;;
    esac
    for tool in $tools; do
        command -v "$tool" >/dev/null 2>&1 || return 1
    done
}

# Words about a command, or about the workloads, need Python alone.
prepare_words() {
    prepare_python || fail "the lab's words need these Python packages (above: the end of build/venv.log); README.md and docs/lab.md have more"
}

hakmem_lab() {
    lab_command=$1
    case " $* " in
        *' --help '* | *' --list '*) python_is_ready || with_build_lock prepare_words || exit 1 ;;
        *)
            lab_is_ready "$lab_command" || with_build_lock prepare_lab "$lab_command" || exit 1
            [ "$lab_command" = peers ] || ensure_built standard || exit 1
            ;;
    esac
    PYTHONPATH=$root PYTHONNOUSERSITE=1 exec "$venv/bin/python" -P -m lab "$@"
}
