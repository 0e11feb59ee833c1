# hakmem explain PID: where the resident memory of a process is; hakmem top PID: the same as a live view. Makes the Python environment of
# the lab once.
#
# Python runs isolated (-I), so that neither the environment of a program that it starts needs to be changed for it, nor
# can that environment change it.

. "$root/launcher/build.sh"
. "$root/launcher/python.sh"

explain_program='import sys; sys.path.insert(0, sys.argv.pop(1)); from lab import cli; sys.exit(cli.main(sys.argv[1:]))'

# look_from_outside COMMAND WORDS...
look_from_outside() {
    python_is_ready || with_build_lock prepare_python ||
        fail "$1 needs these Python packages (above: the end of $(where "$build_root/venv.log")); try again when they are there"
    exec "$venv/bin/python" -I -B -c "$explain_program" "$root" "$@"
}

hakmem_explain() {
    look_from_outside explain "$@"
}
