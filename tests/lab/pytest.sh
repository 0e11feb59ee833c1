# pytest.sh FILE: runs one file of lab/tests with the Python of build/venv; skips where that could not be made.

python=$TESTED_SOURCE_DIR/build/venv/bin/python
if ! "$python" -c 'import click, cxxfilt, elftools, google.protobuf, hdrh, hypothesis, matplotlib, numpy, pytest, rich, scipy, typer' 2>/dev/null; then
    echo 'SKIP: build/venv does not have the Python packages of lab/requirements.txt'
    exit 77
fi
unset LD_PRELOAD PYTHONHOME
export PYTHONPATH="$TESTED_SOURCE_DIR" PYTHONDONTWRITEBYTECODE=1
cd "$TESTED_SOURCE_DIR" || exit 1
exec "$python" -P -m pytest -q -p no:cacheprovider --color=no -rs "$@"
