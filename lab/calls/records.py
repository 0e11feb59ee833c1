"""What a process keeps of its calls: for each heap a histogram of ticks a kind, and a ring of the last events.

The process goes on meanwhile. Counts only grow, so a histogram is as it was at about the same moment. Of a ring is left out
what may have been overwritten while it was read: `written` is read before and after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lab.calls import buckets
from lab.errors import LabError
from lab.explain.layout import Layout
from lab.explain.memory import Memory
from lab.explain.problems import TornError, other_version

KINDS = ("malloc", "free", "large malloc", "large free", "resize")  # enum calls_kind
ROOTS = tuple(f"calls_state.{name}" for name in ("timed", "first_ticks", "first_ns", "last_ticks", "last_ns"))
NUMBERS = ("calls.kinds", "calls.exact", "calls.steps", "calls.buckets", "sizeclass.largest")
EVENT = ("ticks", "address", "caller", "bytes")
FIELDS = (
    *(f"calls.{name}" for name in ("written", "size", "ring", "counts")),
    *(f"calls_event.{name}" for name in EVENT),
    *("calls", "calls_event", "heap.calls"),
)
KIND_SHIFT = 56  # of `bytes`
VARIANTS = ("observe", "check")  # whose box `calls` is open
WORD = 8
MOST_HEAPS, MOST_EVENTS = 1 << 20, 1 << 24
START = "`hakmem run --calls -- CMD`"


@dataclass(frozen=True)
class Thread:
    """What one heap notes down: the calls of its thread, and of those that had it before."""

    number: int  # of the heap; the first one is 0
    counts: NDArray[np.uint64]  # of each kind and bucket
    size: int  # of the ring
    overwritten: int  # events that were in the ring, and are not any more
    events: NDArray[np.void]  # EVENT, the oldest first


@dataclass
class Records:
    """All that could be read."""

    timed: bool
    first_ticks: int
    ns_per_tick: float  # 0: not known yet
    largest_small: int  # bytes that are asked for of the largest block that is not a large one
    middles: NDArray[np.float64]  # of the buckets, in ticks
    threads: list[Thread] = field(default_factory=list)
    torn: int = 0  # what was left out because it made no sense

    @property
    def kept(self) -> bool:
        """Are events kept?"""
        return any(thread.size for thread in self.threads)


def read(memory: Memory, layout: Layout, held: bool = False) -> Records:
    """What is noted down of the calls of a process; held: it does not run. Raises LabError when that is nothing."""
    if not all(layout.has(name) for name in (*ROOTS, *NUMBERS, *FIELDS)):
        raise _refused(memory.pid, layout, "knows no calls", f"start it on a newer one: {START}")
    timed, *clock = (memory.number(layout.roots[name].address, layout.roots[name].bytes) for name in ROOTS)
    kinds, exact, steps, count, largest_small = (layout.value(name) for name in NUMBERS)
    if kinds != len(KINDS) or exact != 2 * steps:
        raise other_version(memory.pid, f"{kinds} kinds of calls", layout.release)
    if not clock[0]:
        if layout.variant not in VARIANTS:
            fix = f"start it with {START}, or HAKMEM_LATENCY=1 with libhakmem-observe.so"
            raise _refused(memory.pid, layout, "cannot note down calls", fix)
        fix = f"start it with {START}, or HAKMEM_LATENCY=1 (how long calls take) or HAKMEM_TRACE=65536 (the last ones)"
        raise _refused(memory.pid, layout, "was not asked to note down calls", fix)
    middles = buckets.middles(exact, steps, count)
    records = Records(bool(timed), clock[0], _ns_per_tick(*clock), largest_small, middles)
    heaps = list(_heaps(memory, layout, records))
    for number, address in enumerate(reversed(heaps)):  # the newest is the first of the list
        try:
            _thread(memory, layout, number, address, held, records)
        except TornError:
            records.torn += 1
        memory.forget()  # rings are large
    return records


def _refused(pid: int, layout: Layout, why: str, fix: str) -> LabError:
    version = f"hakmem {layout.release or '(unknown)'} {layout.variant}"
    return LabError(f"process {pid} is on {version}, which {why}", fix)


def _ns_per_tick(first_ticks: int, first_ns: int, last_ticks: int, last_ns: int) -> float:
    if last_ticks <= first_ticks or last_ns <= first_ns:
        return 0.0
    return (last_ns - first_ns) / (last_ticks - first_ticks)


def _heaps(memory: Memory, layout: Layout, records: Records) -> Iterator[int]:
    """The addresses of the heaps, the newest first."""
    seen: set[int] = set()
    try:
        address = memory.number(layout.roots["heaps.all"].address)
        while address and address not in seen and len(seen) < MOST_HEAPS:
            seen.add(address)
            following = memory.number(address + layout.value("heap.next"))
            yield address
            address = following
    except TornError:
        records.torn += 1


def _thread(memory: Memory, layout: Layout, number: int, heap: int, held: bool, records: Records) -> None:
    """Notes what a heap has; nothing when its thread has not called yet."""
    address = memory.number(heap + layout.value("heap.calls"))
    if address == 0:
        return
    if address % WORD:
        raise TornError("no record")
    record = memory.read(address, layout.value("calls"))
    at, length = layout.value("calls.counts"), layout.length("calls.counts")
    counts = np.frombuffer(record[at : at + length], np.uint64).reshape(len(KINDS), -1)
    written, size, ring = (layout.number(record, f"calls.{name}") for name in ("written", "size", "ring"))
    if size > MOST_EVENTS or (size and ring % WORD):
        raise TornError("no ring")
    first, events = _events(memory, layout, address, (written, size, ring), held)
    records.threads.append(Thread(number, counts, size, first, events))


def _events(
    memory: Memory, layout: Layout, address: int, has: tuple[int, int, int], held: bool
) -> tuple[int, NDArray[np.void]]:
    """The number of the first event that is there, and all from it on."""
    before, size, ring = has
    each = layout.value("calls_event")
    offsets = [layout.value(f"calls_event.{name}") for name in EVENT]
    shape = np.dtype({"names": EVENT, "formats": ["<u8"] * len(EVENT), "offsets": offsets, "itemsize": each})
    if not size or not before:
        return 0, np.zeros(0, shape)
    slots = np.frombuffer(memory.read(ring, min(before, size) * each), shape)
    memory.forget()
    after = memory.number(address + layout.value("calls.written"))
    first = max(0, before - size, after - size + (0 if held else 1))  # the one that is being written takes a place, too
    return first, slots[np.arange(first, max(first, before)) % size]
