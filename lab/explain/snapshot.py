"""Everything together: one look at a process, or a few until the figures fit together."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.explain import layout, others, process, smaps
from lab.explain.account import Account, ClassSum, pages_of
from lab.explain.layout import Layout
from lab.explain.memory import Memory
from lab.explain.problems import NoProcess, NotPermitted, TornError, no_process, not_permitted
from lab.explain.residency import Residency
from lab.explain.smaps import Mapping
from lab.explain.walk import Heap, Walk, used_ranges

LOOKS = 4
NEAR_ENOUGH = 0.01  # of Rss: better than that, no second look is taken
STOPPED_WITHIN_S = 5.0
RECORDS = "[anon:hakmem records]"  # what the kernel calls our records, where it keeps names


@dataclass
class Snapshot:
    """What one look at a process found; bytes."""

    pid: int
    command: str
    variant: str
    release: str
    state: str
    exact: bool
    rss: int
    huge: int  # anonymous memory in huge pages, whoever's
    sums: Counter[str]
    others: Counter[str]
    classes: list[ClassSum]
    threads: int
    torn: int
    moved: int = 0  # by so much Rss changed while all this was read: then it belongs to nobody, or to the wrong one

    @property
    def total(self) -> float:
        """The sum of all categories."""
        return sum(self.sums.values()) + sum(self.others.values())

    @property
    def difference(self) -> float:
        """By what share of the kernel's Rss the sum is off."""
        return (self.total - self.rss) / self.rss if self.rss else 0.0

    @property
    def doubt(self) -> float:
        """The share of Rss that may be what it is not: the sum is off by it, or it came or went meanwhile."""
        return max(abs(self.difference), self.moved / self.rss if self.rss else 0.0)


def take(pid: int, state: str = "running", estimate: bool = False) -> Snapshot:
    """The best of a few looks: a process that changes while it is read is looked at again."""
    best = look(pid, state, estimate)
    for _ in range(LOOKS - 1):
        if best.doubt <= NEAR_ENOUGH:
            break
        again = look(pid, state, estimate)
        best = min(best, again, key=lambda snapshot: snapshot.doubt)
    return best


def look(pid: int, state: str = "running", estimate: bool = False) -> Snapshot:
    """One look."""
    before, mappings = smaps.rss(pid), smaps.read(pid)
    with Memory(pid) as memory:
        described = layout.find(memory, mappings, process.program(pid))
        residency = Residency(pid, mappings, estimate)
        try:
            heap, account = _read(memory, described, residency)
        except TornError as error:
            raise no_process(pid) if not Path(f"/proc/{pid}").exists() else error from None
        finally:
            residency.close()
    after = smaps.rss(pid) if state == "running" else before
    left = others.rest(mappings, account.explained, others.stack_pointers(pid))
    account.sums["on_the_way"] += left.pop(others.OURS, 0)
    found = sum(account.sums.values()) + sum(left.values())
    counted = min(before, after, key=lambda bytes_: abs(bytes_ - found))
    return Snapshot(
        pid,
        process.command(pid),
        described.variant,
        described.release,
        state,
        residency.exact,
        counted,
        sum(mapping.huge for mapping in mappings),
        account.sums,
        left,
        account.classes,
        heap.threads,
        heap.torn,
        abs(after - before),
    )


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[None]:
    """The process is stopped inside, by SIGSTOP, and goes on afterwards with who traces it; unless it was stopped before."""
    if _is_stopped(pid):
        yield
        return
    before = signal.signal(signal.SIGTERM, _end)  # even then the process goes on
    tracer = _running_tracer(pid)
    _send(pid, signal.SIGSTOP)
    try:
        until = time.monotonic() + STOPPED_WITHIN_S
        while not _is_stopped(pid) and time.monotonic() < until:
            time.sleep(0.001)
        yield
    finally:
        _let_go_on(pid, tracer)
        signal.signal(signal.SIGTERM, before)


def _read(memory: Memory, layout: Layout, residency: Residency) -> tuple[Heap, Account]:
    heap, account = Walk(memory, layout, residency).all(), Account(residency)
    residency.expect(used_ranges(heap))
    library = _library(residency.mappings, layout)
    account.add("library", library)
    heap.records = [(at, count) for at, count in heap.records if not any(low <= at < low + of for low, of in library)]
    heap.records += [(m.start, m.end - m.start) for m in residency.mappings if m.name == RECORDS]
    account.heap(heap)
    return heap, account


def _library(mappings: Sequence[Mapping], layout: Layout) -> list[tuple[int, int]]:
    """The ranges of the shared library with its variables; when it is part of the program, only its variables."""
    roots = [(root.address, root.bytes) for root in layout.roots.values()]
    home = next((m for m in mappings if m.start <= layout.address < m.end), None)
    if home is None or ".so" not in home.name.rpartition("/")[2]:
        return pages_of(roots, near=0)
    own = [(m.start, m.end - m.start) for m in mappings if m.name == home.name and m.inode == home.inode]
    end, after = max(start + count for start, count in roots), sum(own[-1])
    return [*own, *pages_of([(after, end - after)])] if end > after else own


def _is_stopped(pid: int) -> bool:
    try:
        return process.state(pid) in "Tt"
    except OSError:
        raise no_process(pid) from None


def _running_tracer(pid: int) -> int:
    """0 when nobody traces it, or who does is stopped: somebody wanted that."""
    tracer = process.tracer(pid)
    with contextlib.suppress(NoProcess):
        return 0 if tracer and _is_stopped(tracer) else tracer
    return 0


def _let_go_on(pid: int, tracer: int) -> None:
    """A tracer as ours (lab/explain/hold.py) stops with its program, some time after it, and has to go on first."""
    _send(pid, signal.SIGCONT)
    until = time.monotonic() + STOPPED_WITHIN_S
    while tracer and _is_stopped(pid) and time.monotonic() < until:
        with contextlib.suppress(NoProcess, NotPermitted):  # it has ended, or is another user's
            if _is_stopped(tracer):
                _send(tracer, signal.SIGCONT)
        time.sleep(0.001)


def _end(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        raise no_process(pid) from None
    except PermissionError:
        raise not_permitted(pid) from None
