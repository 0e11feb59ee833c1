"""The last events of all threads in time order, as CSV and summed up by caller."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lab.calls.records import KIND_SHIFT, KINDS, Records

HEADER = ("time_ns", "thread", "kind", "address", "bytes", "caller", "function")
BYTES = np.uint64((1 << KIND_SHIFT) - 1)
MALLOCS, FREES = ("malloc", "large malloc"), ("free", "large free")


@dataclass(frozen=True)
class Trace:
    """Events by columns, the oldest first."""

    ns: NDArray[np.int64]  # since the process's first reading of its clock
    thread: NDArray[np.int64]  # the number of its heap
    kind: NDArray[np.int64]
    address: NDArray[np.uint64]
    bytes: NDArray[np.uint64]
    caller: NDArray[np.uint64]
    overwritten: int  # older ones, that are not there any more
    whole_from_ns: int  # from then on those of all threads are there
    torn: int  # made no sense

    def __len__(self) -> int:
        return len(self.ns)


def merged(records: Records) -> Trace:
    """All rings in one. Events of the same tick stay in the order of the threads."""
    threads = [thread for thread in records.threads if thread.size]
    number = np.repeat([thread.number for thread in threads], [len(thread.events) for thread in threads])
    ticks, address, caller, packed = (
        np.concatenate([np.zeros(0, np.uint64), *(thread.events[name] for thread in threads)])
        for name in ("ticks", "address", "caller", "bytes")
    )
    kind = (packed >> np.uint64(KIND_SHIFT)).astype(np.int64)
    sane = np.flatnonzero((kind < len(KINDS)) & (ticks > 0))
    order = sane[np.argsort(ticks[sane], kind="stable")]
    oldest = [thread.events["ticks"][0] for thread in threads if thread.overwritten and len(thread.events)]

    def ns(of: NDArray[np.uint64]) -> NDArray[np.int64]:
        since = of.astype(np.int64) - records.first_ticks
        return np.rint(since * records.ns_per_tick).astype(np.int64)

    return Trace(
        ns=ns(ticks[order]),
        thread=number[order].astype(np.int64),
        kind=kind[order],
        address=address[order],
        bytes=packed[order] & BYTES,
        caller=caller[order],
        overwritten=sum(thread.overwritten for thread in threads),
        whole_from_ns=int(ns(np.array(oldest, np.uint64)).max(initial=0)),
        torn=len(kind) - len(sane),
    )


def named(trace: Trace, name: Callable[[int], str]) -> dict[int, str]:
    """The name of the function at each caller."""
    return {caller: name(caller) for caller in map(int, np.unique(trace.caller))}


def as_csv(trace: Trace, names: Mapping[int, str]) -> bytes:
    """A header, and a line for each event."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    columns = (trace.ns, trace.thread, trace.kind, trace.address, trace.bytes, trace.caller)
    for ns, thread, kind, address, count, caller in zip(*(column.tolist() for column in columns), strict=True):
        writer.writerow((ns, thread, KINDS[kind], f"{address:#x}", count, f"{caller:#x}", names[caller]))
    return out.getvalue().encode()


@dataclass
class Caller:
    """What one function called for, of the events that are there."""

    name: str
    events: int = 0
    blocks: int = 0  # allocated
    bytes: int = 0
    freed: int = 0
    freed_bytes: int = 0
    resized: int = 0


def by_caller(trace: Trace, names: Mapping[int, str]) -> list[Caller]:
    """All of them, the one with the most events first. A call that failed gave no block and no bytes."""
    found: dict[str, Caller] = defaultdict(lambda: Caller(""))
    callers, place = np.unique(trace.caller, return_inverse=True)
    kinds = len(KINDS)
    slot = place * kinds + trace.kind
    done = trace.address != 0
    size = len(callers) * kinds
    events = np.bincount(slot, minlength=size).reshape(-1, kinds)
    blocks = np.bincount(slot[done], minlength=size).reshape(-1, kinds)
    space = np.bincount(slot[done], trace.bytes[done].astype(np.float64), size).reshape(-1, kinds)
    allocating, freeing, resizing = ([KINDS.index(kind) for kind in which] for which in (MALLOCS, FREES, ("resize",)))
    for i, address in enumerate(callers.tolist()):
        one = found[names[address]]
        one.name = names[address]
        one.events += int(events[i].sum())
        one.blocks += int(blocks[i, allocating].sum())
        one.bytes += int(space[i, allocating].sum())
        one.freed += int(blocks[i, freeing].sum())
        one.freed_bytes += int(space[i, freeing].sum())
        one.resized += int(blocks[i, resizing].sum())
    return sorted(found.values(), key=lambda one: (-one.events, -one.bytes, one.name))
