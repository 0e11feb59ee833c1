"""The samples that a process keeps: a record for each call stack and size class, in a list that only grows at its head.

The process goes on meanwhile. So the list is bounded, and what makes no sense is left out or cut to what can be.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lab.errors import LabError
from lab.explain.layout import Layout
from lab.explain.memory import Memory
from lab.explain.problems import TornError

ROOTS = ("sample_state.rate", "sample_state.lost", "sample_state.newest")
FIELDS = tuple(f"sample_site.{name}" for name in "older depth taken taken_bytes live live_bytes callers".split())
WORD = 8
MOST_SITES = 1 << 22
MOST_CALLERS = 64
MOST_BYTES = 1 << 47  # of one block


@dataclass(frozen=True)
class Site:
    """Sampled blocks of one call stack and size class; bytes are those that were asked for."""

    taken: int  # ever
    taken_bytes: int
    live: int  # not freed yet
    live_bytes: int
    callers: tuple[int, ...]  # return addresses, innermost first


@dataclass
class Samples:
    """All that could be read."""

    rate: int  # mean bytes between two samples; 0: off
    lost: int = 0
    sites: list[Site] = field(default_factory=list)
    torn: int = 0  # records that made no sense


def read(memory: Memory, layout: Layout) -> Samples:
    """The samples of the process. Raises LabError when its library takes none, or was not asked to."""
    missing = [name for name in (*ROOTS, "sample_site", *FIELDS) if not layout.has(name)]
    if missing:
        version = f"hakmem {layout.release or '(unknown)'} {layout.variant}"
        words = f"process {memory.pid} is on {version}, which takes no heap samples"
        raise LabError(words, "start it on a newer one: `hakmem run --sample 512k -- CMD`")
    rate, lost, newest = (memory.number(layout.roots[name].address, layout.roots[name].bytes) for name in ROOTS)
    if rate == 0:
        fix = "start it with `hakmem run --sample 512k -- CMD` or HAKMEM_HEAP_SAMPLE=512k"
        raise LabError(f"process {memory.pid} is on hakmem, but takes no heap samples", fix)
    samples = Samples(rate, lost)
    seen: set[int] = set()
    while newest and len(seen) < MOST_SITES:
        try:
            if newest in seen:
                raise TornError("a list that bites its tail")
            seen.add(newest)
            newest = _site(memory, layout, newest, samples)
        except TornError:
            samples.torn += 1
            break
    return samples


def _site(memory: Memory, layout: Layout, address: int, samples: Samples) -> int:
    """Notes one site; returns the next older one."""
    if address % WORD:
        raise TornError("no record")
    record = memory.read(address, layout.value("sample_site"))
    older, depth, taken, taken_bytes, live, live_bytes = (layout.number(record, name) for name in FIELDS[:-1])
    if depth > MOST_CALLERS or taken_bytes > taken * MOST_BYTES:
        samples.torn += 1
        return older
    text = memory.read(address + layout.value("sample_site.callers"), depth * WORD) if depth else b""
    callers = [int.from_bytes(text[at : at + WORD], "little") for at in range(0, len(text), WORD)]
    if 0 in callers:
        callers = callers[: callers.index(0)]
    if live > taken:  # between a sample that was taken and its count; or counted down before it was counted up
        live = taken if live - taken < MOST_CALLERS else 0
    live_bytes = min(live_bytes, taken_bytes) if live else 0
    if taken:
        samples.sites.append(Site(taken, taken_bytes, live, live_bytes, tuple(callers)))
    return older
