"""Small C programs for the tests: the benchmark drivers as their sources are now, and what a test brings itself."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench"
FLAGS = ["-std=c11", "-O1", "-fno-builtin", f"-I{BENCH}"]


def compiled(target: Path, sources: list[Path], *more: str) -> Path:
    """Compiles the sources to `target`; skips the test where there is no compiler."""
    compiler = os.environ.get("CC") or "cc"
    if not shutil.which(compiler):
        pytest.skip("no C compiler (Debian: gcc)")
    command = [compiler, *FLAGS, *more, "-o", str(target), *map(str, sources), "-pthread"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target


def addresses(program: Path) -> dict[str, int]:
    """Of the symbols of a program or a library; skips the test where there is no nm."""
    if not shutil.which("nm"):
        pytest.skip("no nm (Debian: binutils)")
    said = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    return {words[2]: int(words[0], 16) for words in map(str.split, said.splitlines()) if len(words) == 3}


@pytest.fixture(scope="session")
def bench_dir(tmp_path_factory):
    """A directory with the drivers of soak and tail, for BENCH_DIR."""
    directory = tmp_path_factory.mktemp("bench")
    compiled(directory / "bench_random_mixed_system", sorted(BENCH.glob("*.c")))
    tail = [BENCH / "tail/tail_mixed.c", BENCH / "tail/histogram.c", BENCH / "worker.c", BENCH / "numbers.c"]
    compiled(directory / "tail_mixed", tail)
    return directory
