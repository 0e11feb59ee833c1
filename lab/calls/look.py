"""One look at the calls of a process: how long they took, and the last of them with the names of their callers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from lab.calls import latency, records, trace
from lab.calls.latency import Latency
from lab.calls.records import Records
from lab.calls.trace import Trace
from lab.explain import layout, process, smaps
from lab.explain.memory import Memory
from lab.heap.images import Images

SURE_CPU_S = 0.1  # below that the kernel's clock is too coarse for a share


@dataclass(frozen=True)
class Look:
    """What was found at one moment."""

    pid: int
    command: str
    variant: str
    release: str
    state: str  # of lab.explain.identity.STATES
    time_ns: int
    cpu_s: float  # user and system time of the process; 0: not known
    records: Records
    names: dict[int, str]  # of the functions that called, by return address
    trace: Trace | None  # where events are kept

    @cached_property
    def latencies(self) -> list[Latency]:
        """Of each kind, then of all; none where calls are not timed."""
        return latency.of_records(self.records) if self.records.timed and self.records.ns_per_tick else []

    @property
    def total_s(self) -> float:
        """Time inside the allocator, of all threads together."""
        return self.latencies[-1].total_ns / 1e9 if self.latencies else 0.0

    @property
    def share(self) -> float | None:
        """Of the CPU time that is inside the allocator; None where that cannot be known."""
        return self.total_s / self.cpu_s if self.latencies and self.cpu_s >= SURE_CPU_S else None


def take(pid: int, state: str = "running") -> Look:
    """Reads the process. Raises LabError when nothing is noted down of its calls."""
    mappings, program = smaps.places(pid), process.program(pid)
    with Memory(pid) as memory:
        described = layout.find(memory, mappings, program)
        found = records.read(memory, described, held=state == "exit")
        cpu_s = process.cpu_s(pid)
    events = trace.merged(found) if found.kept else None
    names = trace.named(events, _namer(Images(pid, mappings, program, described))) if events else {}
    return Look(
        pid=pid,
        command=process.command(pid),
        variant=described.variant,
        release=described.release,
        state=state,
        time_ns=time.time_ns(),
        cpu_s=cpu_s,
        records=found,
        names=names,
        trace=events,
    )


def _namer(images: Images) -> Callable[[int], str]:
    """How the function that a call returns to is called; one of hakmem's own in brackets."""

    def name(caller: int) -> str:
        frame, ours = images.look_up(caller - 1)
        return f"[hakmem: {frame.label}]" if ours else frame.short

    return name
