"""What the tests of the benchmark share: where things lie, how a program is run, and the status of a skipped file."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(os.environ.get("TESTED_SOURCE_DIR") or Path(__file__).resolve().parents[2])
SCRIPTS = ROOT / "scripts"
DRIVER = os.environ.get("BENCH_DRIVER") or str(ROOT / "build/bench/bench_random_mixed_hakmem")
SYSTEM = str(Path(DRIVER).with_name("bench_random_mixed_system"))
LIBRARY = os.environ.get("TESTED_LIB") or str(ROOT / "build/standard/libhakmem.so")
SECONDS = 250  # for any one program: all end within seconds on a quiet machine

sys.path.insert(0, str(SCRIPTS / "measure"))


def run(command, **environment):
    """The completed process; its environment is PATH and what is given."""
    base = {"PATH": os.environ["PATH"], "BENCH_DIR": str(Path(DRIVER).parent)}
    return subprocess.run(
        [str(word) for word in command],
        env=base | {name: str(value) for name, value in environment.items()},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )


def main():
    """unittest's main, with status 77 when every test of the file was skipped."""
    result = unittest.main(module="__main__", exit=False).result
    if result.wasSuccessful() and result.testsRun and len(result.skipped) == result.testsRun:
        print(f"SKIP: {result.skipped[0][1]}")
        sys.exit(77)
    sys.exit(0 if result.wasSuccessful() else 1)
