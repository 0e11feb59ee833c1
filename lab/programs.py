"""The compiled drivers in build/bench: bench_random_mixed_system, tail_mixed and suite_*.

They are built by CMake from bench/, linked to glibc, and measured under every other allocator by preload. They are
built again when a source of bench/ is newer; the lock of build/.lock is the one that `hakmem build` takes, so that
two builders wait for each other. A program that needs a C++ compiler is left out where there is none.
"""

from __future__ import annotations

import fcntl
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lab import once
from lab.errors import LabError

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "build/bench"
MIXED = "bench_random_mixed_system"
TAIL = "tail_mixed"
BUILD = ROOT / "build/standard"
STAMP = OUTPUT / ".suite"


@dataclass(frozen=True)
class Skipped:
    """A workload that cannot be run here: why, and the Debian package that changes it (empty: none known)."""

    name: str
    reason: str
    package: str = ""


def ready() -> Path:
    """The directory of the drivers, built when they are not there or older than a source. Raises LabError."""
    if not _is_fresh():
        library()
        with open(ROOT / "build/.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not _is_fresh():
                _build()
    return OUTPUT


def library() -> None:
    """hakmem's standard library as the sources are now; nothing happens when it is up to date. Raises LabError."""
    _run([str(ROOT / "hakmem"), "build", "standard"], "the library")


def _is_fresh() -> bool:
    return (OUTPUT / MIXED).exists() and once.is_newer(STAMP, once.tree(ROOT / "bench"))


def _build() -> None:
    unfinished = OUTPUT / ".suite.new"
    OUTPUT.mkdir(parents=True, exist_ok=True)
    unfinished.touch()
    _run(["cmake", "--preset", "standard"], "the benchmark drivers")
    _run(["cmake", "--build", str(BUILD), "--target", "suite", MIXED, TAIL], "the benchmark drivers")
    # It keeps the time at which the build began: what is changed meanwhile is newer.
    unfinished.replace(STAMP)


def _run(command: list[str], what: str) -> None:
    try:
        done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise LabError(f"{what} cannot be built: {error}", "`hakmem build` installs what building needs") from None
    if done.returncode != 0:
        words = (done.stdout + done.stderr).strip()[-800:]
        raise LabError(f"{what} cannot be built: {words}", f"`{' '.join(command)}` says more")
