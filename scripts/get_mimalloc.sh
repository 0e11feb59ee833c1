#!/usr/bin/env bash
# The peer "mimalloc" by the lab's recipe: build/peers/libmimalloc3.so and libmimalloc2.so (`hakmem peers` makes all).
#
# Needs nothing but Python 3.11 or newer and what the recipe names (cargo, cmake, ninja, a C compiler).
# Variables: PEERS_DIR (default build/peers), FORCE=1 builds again.
# Prints one line per library: its path, its name and its version.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
PYTHONPATH=$root exec python3 -P -m lab.peers ${FORCE:+--again} mimalloc3 mimalloc2
