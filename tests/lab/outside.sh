# outside.sh CHECK PACKAGES: the check.py of a command that reads a process from outside.

. "$TESTED_SOURCE_DIR/tests/lab/python.sh"

use_python "$2"
exec "$python" -P "$1"
