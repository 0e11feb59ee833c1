"""Who takes part in a soak or a tail: the allocators that were named, or the usual ones; and the proof for each.

Without names: the standard variant of hakmem and everything that `hakmem peers` has here, glibc last.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lab import peers, programs, run, witness
from lab.errors import AskedWrongly, LabError
from lab.model import Allocator, Workload

PROFILES = ("speed", "balanced", "lean")
CPU_WORDS = {"last": "last", "any": "any", "auto": "last", "off": "any"}  # the last two as `ab` had them


def chosen(names: Sequence[str] | None, profile: str = "") -> list[Allocator]:
    """The allocators of these names or paths; `profile` is set for those of hakmem.

    Raises AskedWrongly for an unknown profile or a name given twice, and what peers.find raises.
    """
    if profile and profile not in PROFILES:
        raise AskedWrongly(f"there is no profile '{profile}'", f"use one of: {', '.join(PROFILES)}")
    found = [peers.find(name) for name in names] if names else _usual()
    called = [allocator.name for allocator in found]
    if len(set(called)) < len(called):
        raise AskedWrongly(f"two allocators have the same name: {', '.join(called)}", "name one of them: label=PATH")
    if not profile:
        return found
    asked = {"HAKMEM_PROFILE": profile}
    return [replace(a, env=a.env | asked) if a.family.startswith("hakmem") else a for a in found]


def _usual() -> list[Allocator]:
    others = [allocator for allocator in peers.installed() if allocator.family != "hakmem"]
    others.sort(key=lambda allocator: allocator.path is None)
    return [peers.find("hakmem"), *others]


def program(name: str) -> str:
    """The path of a driver: of the directory that BENCH_DIR names, else built when it is not up to date."""
    directory = Path(os.environ["BENCH_DIR"]).absolute() if os.environ.get("BENCH_DIR") else programs.ready()
    path = directory / name
    if not os.access(path, os.X_OK):
        raise LabError(f"there is no {name} in {directory}", f"scripts/build_bench.sh {name.rpartition('_')[2]} builds it")
    return str(path)


def proven(workload: Workload, allocators: Sequence[Allocator]) -> list[str]:
    """What the witness says of each allocator in the workload's process. Raises WitnessError."""
    return [witness.prove(a, workload.command, run.environment(workload, a)) for a in allocators]


def cpu_of(word: str) -> int | None:
    """The CPU that is meant by --cpu: its number, "last" (of those allowed) or "any". Raises AskedWrongly."""
    allowed = os.sched_getaffinity(0)
    if word in CPU_WORDS:
        return max(allowed) if CPU_WORDS[word] == "last" else None
    if not word.isdigit() or int(word) not in allowed:
        raise AskedWrongly(f"--cpu is last, any, or one of {', '.join(map(str, sorted(allowed)))}, not '{word}'")
    return int(word)
