# hakmem explain PID: where the resident memory of a process is; hakmem top PID: the same as a live view. Makes the Python environment of
# the lab once.
#
# Python runs isolated (-I), so that neither the environment of a program that it starts needs to be changed for it, nor
# can that environment change it.

. "$root/launcher/build.sh"
. "$root/launcher/python.sh"

explain_program='import sys; sys.path.insert(0, sys.argv.pop(1)); from lab import cli; sys.exit(cli.main(sys.argv[1:]))'

# refuse_no_process COMMAND [WORD...]: in the words of lab/explain/problems.py, before packages are fetched to say that. Only of a first
# word that can be nothing else: the rest, and what may be an option's value, is Python's.
refuse_no_process() {
    case ${2-} in
        '' | 0* | *[!0-9]*) return 0 ;;
    esac
    case " $* " in
        *' --help '*) return 0 ;;
    esac
    [ -e "/proc/$2" ] || refuse "there is no process $2
  \`pgrep -a NAME\` lists processes; one that has ended cannot be read"
}

# look_from_outside COMMAND WORDS...
look_from_outside() {
    python_is_ready || { refuse_no_process "$@" && with_build_lock prepare_python; } ||
        fail "$1 needs these Python packages (above: the end of $(where "$build_root/venv.log")); try again when they are there"
    exec "$venv/bin/python" -I -B -c "$explain_program" "$root" "$@"
}

hakmem_explain() {
    look_from_outside explain "$@"
}
