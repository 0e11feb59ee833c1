"""What the tests of commands share that read a process from outside: tests/explain, tests/heap, tests/calls.

Each is a program of its own, check.py: functions whose names begin with `test_`, run one after the other by `run_all`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

PROGRAMS, LIBRARY = Path(os.environ["TESTED_PROGRAMS"]), os.environ["TESTED_LIB"]
LAB = [sys.executable, "-P", "-m", "lab"]
AS_NOBODY = """
import importlib, os, sys
from lab import cli
importlib.import_module("lab.commands." + sys.argv[1])
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
sys.exit(cli.main(sys.argv[1:]))
"""


def environment(preload: bool = True, **options: str) -> dict[str, str]:
    """That of a program under test: no option of hakmem's but these."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HAKMEM_")}
    return kept | options | ({"LD_PRELOAD": LIBRARY} if preload else {})


@contextlib.contextmanager
def speaking(words: Sequence[object], made: Mapping[str, str]) -> Iterator[tuple[int, dict[str, int]]]:
    """A program that has said everything, a name and a number a line, up to `ready`: its process id and what it said."""
    process = subprocess.Popen([str(word) for word in words], env=dict(made), stdout=subprocess.PIPE, text=True)
    said: dict[str, int] = {}
    try:
        assert process.stdout
        for line in process.stdout:
            name, number = line.split()
            said[name] = int(number)
            if name == "ready":
                break
        assert "ready" in said, f"{words[0]} ended early"
        yield process.pid, said
    finally:
        if "child" in said:
            os.kill(said["child"], signal.SIGKILL)
        process.kill()
        process.wait()


@contextlib.contextmanager
def directory() -> Iterator[Path]:
    """A directory that is gone afterwards."""
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


def refused(status: int, words: str, command: str, *arguments: object) -> None:
    """The command says why, on standard error alone."""
    done = subprocess.run([*LAB, command, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == status and words in done.stderr and not done.stdout, (done.returncode, done.stderr)


def check_refusals(command: str) -> None:
    """What no command that takes a PID can look at."""
    refused(2, "is not a process id", command, "one")
    process = subprocess.Popen(["true"])
    process.wait()
    refused(2, f"there is no process {process.pid}", command, process.pid)
    sleeper = subprocess.Popen(["sleep", "100"])
    try:
        refused(1, f"process {sleeper.pid} is not on hakmem", command, sleeper.pid)
        if os.getuid() == 0:
            words = [sys.executable, "-P", "-c", AS_NOBODY, command, str(sleeper.pid)]
            done = subprocess.run(words, capture_output=True, text=True)
            assert done.returncode == 2 and "may not be read by this user" in done.stderr, done.stderr
    finally:
        sleeper.kill()
        sleeper.wait()


def run_all(names: Mapping[str, Any], prefix: str = "test_") -> int:
    """Runs what begins with the prefix, each to its end; the exit status: 1 when one has failed."""
    failures = 0
    for name, test in list(names.items()):
        if name.startswith(prefix):
            try:
                test()
                print(f"passed  {name}")
            except Exception:
                failures += 1
                print(f"FAILED  {name}\n{traceback.format_exc()}")
    return 1 if failures else 0
