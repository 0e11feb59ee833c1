# hakmem explain PID: where the resident memory of a process is. Makes the Python environment of the lab once.
#
# Python runs isolated (-I), so that neither the environment of a program that it starts needs to be changed for it, nor
# can that environment change it.

. "$root/launcher/build.sh"
. "$root/launcher/python.sh"

explain_program='import sys; sys.path.insert(0, sys.argv.pop(1)); from lab import cli; sys.exit(cli.main(sys.argv[1:]))'

hakmem_explain() {
    python_is_ready || with_build_lock prepare_python ||
        fail 'explain needs these Python packages (above: the end of build/venv.log); try again when they are there'
    exec "$venv/bin/python" -I -B -c "$explain_program" "$root" explain "$@"
}
