"""What is measured: an allocator, named on the command line, and one run of the benchmark driver on it.

An allocator is named by the path of a shared library, which is preloaded under bench_random_mixed_system, or by
the path of a driver that is linked to it, or by the last part of a driver's name in build/bench (`hakmem`, `mi`,
`system`). `label=path` gives it another name in the tables.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from settings import BENCH, PEERS, ROOT, clean_environment, refuse  # first: it makes lab importable

from lab import model, witness
from lab.errors import LabError
from lab.run import PEAK

THROUGHPUT = re.compile(r"^Throughput = (\d+) ops/s \[iter=(\d+) ws=(\d+)\] time=([\d.]+)s$", re.M)
PREFIX = "bench_random_mixed_"


class RunFailed(Exception):
    """A driver ended badly or printed something that is not its format."""


class Allocator:
    """A name for the tables, the driver to run and the library to preload under it."""

    def __init__(self, word):
        label, equals, path = word.partition("=")
        if not equals:
            label, path = "", word
        if "/" not in path and not path.endswith(".so"):
            path = str(BENCH / f"{PREFIX}{path}")
        if not os.path.isfile(path):
            refuse(f"no such allocator: {path} (scripts/build_bench.sh builds the drivers)")
        self.preload = os.path.abspath(path) if ".so" in os.path.basename(path) else None
        self.driver = str(BENCH / f"{PREFIX}system") if self.preload else os.path.abspath(path)
        if not os.access(self.driver, os.X_OK):
            refuse(f"no driver at {self.driver} (scripts/build_bench.sh builds it)")
        self.label = label or re.sub(r"\.so.*$", "", os.path.basename(path)).replace(PREFIX, "")
        if self.preload:
            self.prove()

    def prove(self):
        """Ends the program when the library does not own malloc there: it would be glibc that is measured."""
        claim = model.Allocator(self.label, self.preload, "", "", self.label)
        try:
            witness.prove(claim, self.command(1, 1), self.environment())
        except LabError as error:
            refuse(f"{error.message}; {error.fix}" if error.fix else error.message)

    def environment(self, **asked):
        return clean_environment(LD_PRELOAD=self.preload, **asked)

    def version(self):
        """The version that lies beside the library, if this is a peer that `hakmem peers` made."""
        name = "libmimalloc3.so" if self.label == "mi" else os.path.basename(self.preload or "")
        noted = (PEERS / (name or "none")).with_suffix(".json")
        return json.loads(noted.read_text())["version"] if noted.is_file() else ""

    def command(self, iterations, working_set, seed=1):
        return [self.driver, str(iterations), str(working_set), str(seed)]

    def run(self, iterations, working_set, seed=1, **asked):
        """One run to its end: the completed process, its output as text."""
        done = subprocess.run(
            self.command(iterations, working_set, seed),
            env=self.environment(**asked),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
        )
        if done.returncode != 0 or not THROUGHPUT.search(done.stdout):
            words = (done.stderr or done.stdout).strip()[-300:] or "it is no driver of ours: it printed nothing"
            raise RunFailed(f"{self.label}: exit status {done.returncode}: {words}")
        return done

    def throughput(self, iterations, working_set, seed=1, **asked):
        return int(THROUGHPUT.search(self.run(iterations, working_set, seed, **asked).stdout).group(1))

    def peak_kb(self, iterations, working_set, **asked):
        return int(PEAK.search(self.run(iterations, working_set, BENCH_RSS=1, **asked).stderr).group(1))


def named(words, default):
    """The allocators of the command line; without any, those of the default that are built: the others are named."""
    if words:
        return [Allocator(word) for word in words]
    found = [word for word in default if Path(word if "/" in word else BENCH / f"{PREFIX}{word}").is_file()]
    if not found:
        refuse("nothing is built yet: run scripts/build_bench.sh")
    for word in default:
        if word not in found:
            name = Path(word).name
            print(f"left out, for it is not built: {name} (scripts/build_bench.sh, hakmem peers)", file=sys.stderr)
    return [Allocator(word) for word in found]


def libraries(words, what):
    """Of the command line, or hakmem and the peers that are built: for `what` is only run with libraries to preload."""
    found = named(words, [str(ROOT / "build/standard/libhakmem.so"), *map(str, sorted(PEERS.glob("lib*.so")))])
    for allocator in found:
        if not allocator.preload:
            refuse(f"{allocator.label} is a driver: {what} wants a library to preload")
    return found


def everything():
    """The default of the surveys: every variant, glibc, and the peers that are built."""
    return ["hakmem", "hakmem_minimal", "hakmem_observe", "hakmem_hardened", "mi", str(PEERS / "libmimalloc2.so"), "system"]


def is_preloaded(library):
    """The loader says so when it cannot, and goes on without it."""
    environment = clean_environment(LD_PRELOAD=library)
    done = subprocess.run([shutil.which("true")], env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return b"cannot be preloaded" not in done.stderr


def preloadable(libraries):
    """Ends the program at the first path that is no library, for one that is left out is not measured."""
    for path in libraries:
        if not os.path.isfile(path):
            refuse(f"no such library: {path}")
        if not is_preloaded(os.path.abspath(path)):
            refuse(f"{path} cannot be preloaded: it is no shared library for this machine")


def needed(tool, package):
    """The tool's path, or the end of the program with the name of its Debian package."""
    path = shutil.which(tool)
    if not path:
        refuse(f"{tool} is needed (Debian package: {package})")
    return path
