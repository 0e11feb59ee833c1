"""Real programs from packages, each with fixed work: what an allocator is worth outside of benchmarks.

The measure is user and system time (lab/pairs.py takes it for workloads of one thread; children that the program
waits for count, so g++ includes its compiler). What the programs work on lies in bench/real/ or is made once in
build/real/, always the same. A program that is not there is reported with the Debian package that has it.

redis is measured as the server alone: its client runs outside of the measured process (bench/real/redis.sh).
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab import once
from lab.programs import ROOT, Skipped
from lab.errors import AskedWrongly, LabError
from lab.model import Workload
from lab.suite import SCALES

WORK = ROOT / "bench/real"
MADE = ROOT / "build/real"
JQ_FILTER = 'group_by(.kind) | map({kind: .[0].kind, n: length, names: (map(.name | ascii_upcase) | sort | join(","))})'
GIT_FILES, GIT_COMMITS = 40, 60


@dataclass(frozen=True)
class Real:
    """One program. `tools` must be there; `command` gets their paths by name and the scale of the work."""

    name: str
    question: str
    tools: tuple[str, ...]
    package: str
    command: Callable[[dict[str, str], int], list[str]]
    env: dict[str, str] = field(default_factory=dict)
    make: Callable[[Path], None] | None = None
    seconds: float = 0.3


def _make_json(path: Path) -> None:
    drawn = random.Random(1)
    rows = [
        {"id": i, "kind": drawn.randrange(50), "name": f"name-{drawn.randrange(10**6)}", "tags": ["x" * drawn.randrange(30)] * 3}
        for i in range(8000)
    ]
    path.write_text(json.dumps(rows))


def _git_stream() -> bytes:
    """A history for git fast-import: text files of which a few lines change with every commit."""
    drawn = random.Random(1)
    files = [[f"line {n} {drawn.randrange(10**9)}" for n in range(300)] for _ in range(GIT_FILES)]
    words = []
    for commit in range(GIT_COMMITS):
        words.append(f"commit refs/heads/main\ncommitter A <a@example.org> {1700000000 + commit} +0000\ndata 1\nx\n")
        for number in range(GIT_FILES):
            if commit and drawn.randrange(4):
                continue
            files[number][drawn.randrange(300)] = f"changed {drawn.randrange(10**9)}"
            text = "\n".join(files[number])
            words.append(f"M 100644 inline file{number}\ndata {len(text)}\n{text}\n")
    return "".join(words).encode()


def _make_repository(path: Path) -> None:
    env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(path), "GIT_CONFIG_NOSYSTEM": "1"}
    for command, text in ((["git", "init", "-q", str(path)], b""), (["git", "-C", str(path), "fast-import", "--quiet"], _git_stream())):
        done = subprocess.run(command, input=text, env=env, capture_output=True)
        if done.returncode != 0:
            raise LabError(f"git made no repository: {done.stderr.decode(errors='replace')[-300:]}", "does git work here?")


PROGRAMS = (
    Real("redis", "SET, GET, lists, sets and hashes of 100 bytes; the server's time only",
         ("redis-server", "redis-cli", "redis-benchmark"), "redis-server",
         lambda _, n: ["sh", str(WORK / "redis.sh"), str(20_000 * n), str(MADE / "redis.sock")]),
    Real("sqlite", "fill, index, join, group, change, in memory", ("sqlite3",), "sqlite3",
         lambda tool, n: [tool["sqlite3"], ":memory:", *[f".read {WORK / 'work.sql'}"] * 2 * n], seconds=0.2),
    Real("python", "CPython as it comes; its own small-object allocator asks malloc for the rest", ("python3",), "python3",
         lambda tool, n: [tool["python3"], "-I", "-S", str(WORK / "work.py"), str(5 * n)]),
    Real("python_malloc", "CPython with PYTHONMALLOC=malloc, so that every object is a malloc", ("python3",), "python3",
         lambda tool, n: [tool["python3"], "-S", str(WORK / "work.py"), str(5 * n)], {"PYTHONMALLOC": "malloc"}),
    Real("g++", "-O2 of nested templates", ("g++",), "g++",
         lambda tool, n: [tool["g++"], "-std=c++17", "-O2", "-S", "-o", "/dev/null", f"-DSCALE={2 * n}", str(WORK / "templates.cpp")],
         seconds=0.8),
    Real("git", "repack -a -d -f, every delta anew", ("git",), "git",
         lambda tool, n: [tool["git"], "-C", str(MADE / "repository"), "-c", "pack.threads=1", "repack", "-a", "-d", "-f", "-q",
                          f"--window={50 * n}"],
         {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}, make=_make_repository),
    Real("jq", "group, map, sort and join 8,000 objects", ("jq",), "jq",
         lambda tool, n: [tool["jq"], "-c", JQ_FILTER, *[str(MADE / "rows.json")] * n], make=_make_json, seconds=0.2),
    Real("perl", "hashes, strings, regular expressions", ("perl",), "perl",
         lambda tool, n: [tool["perl"], str(WORK / "work.pl"), str(4 * n)]),
    Real("lua", "tables, closures and strings", ("lua",), "lua5.4",
         lambda tool, n: [tool["lua"], str(WORK / "work.lua"), str(4 * n)]),
    Real("node", "objects, maps, buffers and text (V8 has a heap of its own)", ("node",), "nodejs",
         lambda tool, n: [tool["node"], str(WORK / "work.js"), str(3 * n)], seconds=0.5),
)  # fmt: skip
MADE_FILES = {"git": "repository", "jq": "rows.json"}


def real_programs(
    names: Sequence[str] | None = None, budget: str = "short", skipped: list[Skipped] | None = None
) -> list[Workload]:
    """The real programs of these names (None: all) that are there; the others are added to `skipped`.

    Raises AskedWrongly for a name or budget that does not exist, LabError when what they work on cannot be made.
    """
    known = [program.name for program in PROGRAMS]
    for name in names or ():
        if name not in known:
            raise AskedWrongly(f"there is no real program '{name}'", f"use one of: {', '.join(known)}")
    if budget not in SCALES:
        raise AskedWrongly(f"there is no size '{budget}'", f"use one of: {', '.join(SCALES)}")
    found = []
    for program in PROGRAMS:
        if names and program.name not in names:
            continue
        tools = {name: tool(name) for name in program.tools}
        missing = [name for name, path in tools.items() if not path]
        if not missing:
            found.append(_workload(program, {name: path or "" for name, path in tools.items()}, SCALES[budget]))
        elif skipped is not None:
            skipped.append(Skipped(program.name, f"there is no {' and no '.join(missing)}", program.package))
    return found


def tool(name: str) -> str | None:
    """The program's real path. A shim (a script that only finds the program) would be measured in its place."""
    if name == "python3":
        return shutil.which("python3", path="/usr/bin:/usr/local/bin") or os.path.realpath(sys.executable)
    if name == "lua":
        return next((path for path in map(shutil.which, ("lua5.4", "lua5.3", "lua")) if path), None)
    return shutil.which(name)


def _workload(program: Real, tools: dict[str, str], scale: int) -> Workload:
    MADE.mkdir(parents=True, exist_ok=True)
    if program.make:
        _made(program)
    return Workload(
        name=program.name,
        question=program.question,
        command=program.command(tools, scale),
        env=program.env,
        unit="s",
        higher_is_better=False,
        after="a real program",
        group="real",
        seconds=program.seconds * scale,
    )


def _made(program: Real) -> None:
    """Makes what the program works on, once."""
    path = MADE / MADE_FILES[program.name]
    once.made(path, path.exists, lambda: _make(program, path))


def _make(program: Real, path: Path) -> None:
    """An interrupted attempt leaves nothing that counts."""
    new = path.with_name(path.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    new.unlink(missing_ok=True)
    assert program.make
    program.make(new)
    new.rename(path)


def install(packages: Sequence[str]) -> None:
    """Installs Debian packages with the launcher's installer, which says what it installs. Raises LabError."""
    script = 'root=$1; build_root=$root/build; shift; . "$root/launcher/say.sh"; . "$root/launcher/install.sh"; need "$@"'
    done = subprocess.run(["sh", "-c", script, "sh", str(ROOT), *packages], stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise LabError(f"could not install {' '.join(packages)}", "build/apt.log says more; go on without them by leaving --install out")
