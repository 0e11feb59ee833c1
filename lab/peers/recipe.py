"""What a peer is and how one is made: a recipe, and the job that runs its commands.

A recipe names a pinned source in a package registry and a function that turns it into one library that can be
preloaded. Each recipe is a file of its own beside this one and holds no code of the peer, only its authors' own
build with their release options, so that a peer is measured as its authors ship it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab.errors import LabError

TICK_S = 0.2
LAST_LINES = 12


class CannotBeHad(LabError):
    """This peer cannot be made here; the reason is for the row of the table."""


@dataclass(frozen=True)
class Made:
    """What a recipe made: the library, still in the working directory, and the version that its source states."""

    library: Path
    version: str


@dataclass(frozen=True)
class Recipe:
    """One peer. `seconds` is roughly how long it takes on two cores; `tools` are programs that must be there.

    `env` is what a measured process needs for the peer's best mode. `links` are names under which a program that was
    linked to the library looks for it.
    """

    name: str
    family: str
    origin: str
    version: str
    make: Callable[["Job"], Made] = field(compare=False)
    seconds: float
    tools: tuple[str, ...]
    packages: str
    env: Mapping[str, str] = field(default_factory=dict, compare=False)
    links: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    @property
    def library(self) -> str:
        """The name of the file in build/peers."""
        return f"lib{self.name}.so"

    def check_tools(self) -> None:
        """Raises CannotBeHad when a tool is missing."""
        missing = [tool for tool in self.tools if not shutil.which(tool)]
        if missing:
            raise CannotBeHad(f"{' and '.join(missing)} not found", f"install the Debian packages {self.packages}")


class Job:
    """Runs the commands of one recipe in a working directory, with a log, reporting time that passes.

    Each command is a session of its own, so that an interruption ends all of it. `tick` is called a few times a
    second while a command runs.
    """

    def __init__(self, work: Path, tick: Callable[[], None] = lambda: None) -> None:
        self.work = work
        self.tick = tick
        self.cores = len(os.sched_getaffinity(0))

    def run(self, *command: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
        """Runs a command to its end; returns its standard output. Raises CannotBeHad with its last lines."""
        words = [str(word) for word in command]
        with tempfile.TemporaryFile("w+", errors="replace") as out, tempfile.TemporaryFile("w+", errors="replace") as log:
            try:
                process = subprocess.Popen(
                    words,
                    cwd=cwd or self.work,
                    env={**os.environ, **(env or {})},
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=log,
                    start_new_session=True,
                )
            except OSError as error:
                raise CannotBeHad(f"{words[0]} cannot be run: {error.strerror}") from None
            status = self._wait(process)
            out.seek(0)
            log.seek(0)
            text = out.read()
            if status != 0:
                lines = (log.read().strip() or text.strip()).splitlines()[-LAST_LINES:]
                raise CannotBeHad(f"`{_short(words)}` failed: " + "\n".join(lines))
            return text

    def _wait(self, process: subprocess.Popen[bytes]) -> int:
        try:
            while True:
                try:
                    return process.wait(TICK_S)
                except subprocess.TimeoutExpired:
                    self.tick()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise

    def retry(self, *command: str | Path, cwd: Path | None = None, times: int = 3) -> str:
        """`run` for what goes over the network: tried again after a pause."""
        for attempt in range(1, times):
            try:
                return self.run(*command, cwd=cwd)
            except CannotBeHad:
                time.sleep(2.0 * attempt)
        return self.run(*command, cwd=cwd)


def _short(words: Sequence[str]) -> str:
    return " ".join(words[:2])


def cmake_build(job: Job, source: Path, target: str, *options: str) -> Path:
    """Configures (Release) and builds one target; returns the build directory."""
    build = job.work / "cmake"
    job.run("cmake", "-G", "Ninja", "-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Release", *options)
    job.run("cmake", "--build", build, "--target", target, "-j", str(job.cores))
    return build
