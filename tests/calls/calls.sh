# `hakmem calls`: check.py with the Python of build/venv; skips without it.

python=$TESTED_SOURCE_DIR/build/venv/bin/python
if ! "$python" -c 'import click, cxxfilt, elftools, google.protobuf, hdrh, matplotlib, numpy, rich, typer' 2>/dev/null; then
    echo 'SKIP: build/venv does not have the Python packages of lab/requirements.txt'
    exit 77
fi
unset LD_PRELOAD PYTHONHOME
export PYTHONPATH="$TESTED_SOURCE_DIR" PYTHONDONTWRITEBYTECODE=1
exec "$python" -P "$TESTED_SOURCE_DIR/tests/calls/check.py"
