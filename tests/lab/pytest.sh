# pytest.sh FILE: runs one file of lab/tests with the Python of build/venv; skips where that could not be made.

. "$TESTED_SOURCE_DIR/tests/lab/python.sh"

use_python 'click, cxxfilt, elftools, google.protobuf, hdrh, hypothesis, matplotlib, numpy, pytest, rich, scipy, typer'
cd "$TESTED_SOURCE_DIR" || exit 1
exec "$python" -P -m pytest -q -p no:cacheprovider --color=no -rs "$@"
