"""The other allocators: which there are, which are here, and how the missing ones are made.

`installed()` says what can be measured now, `find(name)` gives one allocator by name or path, `get(names)` makes what
is missing. Peers come pinned from package registries (see sources.py) and lie in build/peers (see shelf.py). One that
cannot be had is a result with its reason, never an exception and never silence.

Needs nothing but Python: `python3 -m lab.peers NAME...` makes peers without the lab's environment.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from lab import witness
from lab.errors import AskedWrongly, LabError
from lab.model import Allocator
from lab.peers import gperftools, jemalloc, mimalloc, rpmalloc, shelf, snmalloc, tcmalloc
from lab.peers.recipe import CannotBeHad, Job, Made, Recipe

RECIPES: list[Recipe] = [
    recipe for module in (mimalloc, jemalloc, tcmalloc, gperftools, snmalloc, rpmalloc) for recipe in module.RECIPES
]
VARIANTS = ("standard", "fast", "observe", "hardened")
GLIBC_NAMES = ("glibc", "system", "libc")
# Two threads that allocate, in this Python, which asks malloc for everything (PYTHONMALLOC).
SMOKE = [
    sys.executable,
    "-S",
    "-c",
    "import threading\n"
    "threads = [threading.Thread(target=lambda: [bytes(size) for size in range(2000)]) for _ in range(2)]\n"
    "for thread in threads: thread.start()\n"
    "for thread in threads: thread.join()",
]


@dataclass(frozen=True)
class PeerResult:
    """One peer after `get`: `state` is "ready" (was there), "made" or "failed", with the reason and a fix."""

    name: str
    state: str
    allocator: Allocator | None
    origin: str
    reason: str = ""
    fix: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Step:
    """Progress of `get`: of peer `name`, `fraction` (0 to 1, by the time it usually takes) is done.

    `left_s` is roughly how many seconds all peers that were asked for still take. `state` is "waiting" for another
    run that makes peers, "making", or the state of a result.
    """

    name: str
    state: str
    fraction: float
    left_s: float


Report = Callable[[Step], None]


def glibc() -> Allocator:
    """The C library of this system, which needs no preload."""
    version = os.confstr("CS_GNU_LIBC_VERSION") or "unknown"
    return Allocator("glibc", None, version.removeprefix("glibc "), "the system's C library", "glibc")


def hakmem(variant: str) -> Allocator | None:
    """The library of a variant as it lies in build/<variant>, if it was built."""
    path = shelf.ROOT / "build" / variant / ("libhakmem.so" if variant == "standard" else f"libhakmem-{variant}.so")
    if not path.exists():
        return None
    name = "hakmem" if variant == "standard" else f"hakmem-{variant}"
    stamp = path.stat().st_mtime_ns
    return Allocator(name, str(path), _version_of_hakmem(str(path), stamp), f"this tree, build/{variant}", "hakmem")


@lru_cache
def _version_of_hakmem(path: str, stamp: int) -> str:
    """What the library says about itself; `stamp` is its time, so that a new build is asked again."""
    env = {"LD_PRELOAD": path, "HAKMEM_VERBOSE": "1", "PATH": os.defpath}
    try:
        done = subprocess.run(
            ["sh", "-c", ":"], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return version_in(done.stderr)


def version_in(words: str) -> str:
    """The version and the commit in what the library prints with HAKMEM_VERBOSE=1, or "unknown"."""
    found = re.search(r"version ([\w.]+), commit (\w+)", words)
    return f"{found.group(1)} ({found.group(2)})" if found else "unknown"


def installed() -> list[Allocator]:
    """What can be measured now: glibc, the peers that lie on the shelf, hakmem's variants that are built."""
    there = [glibc(), *(shelf.read(recipe) for recipe in RECIPES), *(hakmem(variant) for variant in VARIANTS)]
    return [allocator for allocator in there if allocator is not None]


def recipe_of(name: str) -> Recipe:
    """The recipe of a peer by its name or an alias. Raises AskedWrongly."""
    for recipe in RECIPES:
        if name == recipe.name or name in recipe.aliases:
            return recipe
    raise AskedWrongly(f"there is no peer '{name}'", f"use one of: {', '.join(recipe.name for recipe in RECIPES)}, glibc")


def find(name_or_path: str) -> Allocator:
    """An allocator by its name (`mimalloc3`, `hakmem-fast`, `glibc`), the path of a library, or `label=path`.

    Raises LabError with what makes it when it is known but not there, AskedWrongly when it is not known.
    """
    label, equals, path = name_or_path.partition("=")
    if not equals:
        label, path = "", name_or_path
    if "/" in path or path.endswith(".so"):
        return _by_path(label, Path(path))
    if path in GLIBC_NAMES:
        return glibc()
    family, _, variant = path.partition("-")
    if family == "hakmem":
        return _by_variant(variant or "standard")
    try:
        recipe = recipe_of(path)
    except AskedWrongly as error:
        ours = ", ".join("hakmem" if each == "standard" else f"hakmem-{each}" for each in VARIANTS)
        raise AskedWrongly(f"there is no allocator '{path}'", f"{error.fix}, {ours}; or a library's path") from None
    allocator = shelf.read(recipe)
    if allocator is None:
        raise LabError(f"{recipe.name} is not there", f"`hakmem peers {recipe.name}` makes it")
    return allocator


def _by_path(label: str, path: Path) -> Allocator:
    if not path.is_file():
        raise LabError(f"there is no library at {path}", "give the path of a shared library, or a name of `hakmem peers`")
    path = path.absolute()
    name = label or path.name.partition(".so")[0].removeprefix("lib")
    return Allocator(name, str(path), f"sha256 {shelf.checksum(path)[:12]}", str(path), name)


def _by_variant(variant: str) -> Allocator:
    if variant not in VARIANTS:
        raise AskedWrongly(f"there is no variant '{variant}' of hakmem", f"use one of: {', '.join(VARIANTS)}")
    allocator = hakmem(variant)
    if allocator is None:
        raise LabError(f"the {variant} variant of hakmem is not built", f"`hakmem build {variant}` builds it")
    return allocator


def get(names: Sequence[str] | None = None, report: Report | None = None, again: bool = False) -> list[PeerResult]:
    """Makes the peers of these names (None: all) that are not there, or all of them `again`; one result each.

    Ctrl-C passes through; what was finished before stays. Raises AskedWrongly for an unknown name.
    """
    tell = report or (lambda step: None)
    recipes = RECIPES if names is None else list(dict.fromkeys(recipe_of(name) for name in names))
    if not again and all(shelf.read(recipe) for recipe in recipes):
        return [_ready(recipe) for recipe in recipes]
    with shelf.locked(lambda: tell(Step("", "waiting", 0.0, 0.0))):
        shelf.sweep()
        missing = [recipe for recipe in recipes if again or shelf.read(recipe) is None]
        results = []
        for recipe in recipes:
            later = sum(other.seconds for other in missing[missing.index(recipe) + 1 :]) if recipe in missing else 0.0
            results.append(_make(recipe, tell, later) if recipe in missing else _ready(recipe))
    return results


def _ready(recipe: Recipe) -> PeerResult:
    return PeerResult(recipe.name, "ready", shelf.read(recipe), recipe.origin)


def _make(recipe: Recipe, tell: Report, later_s: float) -> PeerResult:
    """Makes one peer in a directory of its own, proves that it works, and puts it on the shelf."""
    started = time.monotonic()

    def tick() -> None:
        done = min((time.monotonic() - started) / recipe.seconds, 0.99)
        tell(Step(recipe.name, "making", done, later_s + recipe.seconds * (1 - done)))

    def result(state: str, reason: str = "", fix: str = "") -> PeerResult:
        tell(Step(recipe.name, state, 1.0, later_s))
        seconds = time.monotonic() - started
        return PeerResult(recipe.name, state, shelf.read(recipe), recipe.origin, reason, fix, seconds)

    tick()
    try:
        recipe.check_tools()
        with tempfile.TemporaryDirectory(prefix=f"{recipe.name}-", dir=shelf.workshop()) as work:
            job = Job(Path(work), tick)
            made = recipe.make(job)
            check(recipe, made, job)
            shelf.put(recipe, made)
    except LabError as error:
        return result("failed", error.message, error.fix)
    except (OSError, ValueError, KeyError) as error:
        return result("failed", f"{type(error).__name__}: {error}")
    return result("made")


def check(recipe: Recipe, made: Made, job: Job) -> None:
    """Raises LabError unless the library owns malloc in a program of two threads, which then ends well with it."""
    path = str(made.library.resolve())
    env = {"PATH": os.environ.get("PATH", os.defpath), "PYTHONMALLOC": "malloc", "LD_PRELOAD": path, **recipe.env}
    allocator = Allocator(recipe.name, path, made.version, recipe.origin, recipe.family)
    witness.prove(allocator, SMOKE, env)
    try:
        job.run("env", "-i", *(f"{name}={value}" for name, value in env.items()), *SMOKE)
    except CannotBeHad as error:
        raise CannotBeHad(f"a program does not run with it: {error.message}") from None
