# Sourced: use_python PACKAGES finds the Python of build/venv ($python), which is to have these packages; skips without them. What runs on
# it finds lab and nothing of the caller's.

use_python() {
    python=$TESTED_SOURCE_DIR/build/venv/bin/python
    if ! "$python" -c "import $1" 2>/dev/null; then
        echo 'SKIP: build/venv does not have the Python packages of lab/requirements.txt'
        exit 77
    fi
    unset LD_PRELOAD PYTHONHOME
    export PYTHONPATH="$TESTED_SOURCE_DIR" PYTHONDONTWRITEBYTECODE=1
}
