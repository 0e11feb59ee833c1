"""How many resident bytes are what.

Every byte of a slab belongs to one block, to what was never handed out, or to its tail; it counts as far as its page is
resident.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lab.explain.memory import PAGE
from lab.explain.residency import Pages, Residency
from lab.explain.walk import UNIT, Heap, SizeClass, Slab

BATCH = 1 << 21  # blocks looked at together
NEAR = 64 * 1024  # records this near to each other lie in one chunk: what is between was a record once

LIVE, CACHED, FREE, FRESH = range(4)  # states of a block
Sum = Counter[str]


@dataclass
class ClassSum:
    """One size class. Blocks are counted whether their pages are resident or not; bytes are resident ones."""

    size: int
    slabs: int = 0
    blocks: int = 0
    carved: int = 0
    count: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    resident: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0, 0.0])
    free_in_empty: float = 0.0
    waiting: float = 0.0  # part of cached: freed by another thread, not yet collected
    tail: float = 0.0
    page_rests: float = 0.0  # part of what was never handed out: it shares a page with a block that was
    aligned: bool = False  # one of those that only requests for an alignment come to

    @property
    def name(self) -> str:
        """What a table calls it: another class may have blocks of the same size."""
        return f"{self.size} aligned" if self.aligned else str(self.size)

    @property
    def waste(self) -> float:
        """Resident bytes that are no live block's."""
        return sum(self.resident[CACHED:]) + self.tail


class Account:
    """Sums by category, in bytes, and what of each mapping they explain."""

    def __init__(self, residency: Residency) -> None:
        self.residency = residency
        self.sums: Sum = Counter()
        self.classes: list[ClassSum] = []
        self.explained: Counter[int] = Counter()  # by number of the mapping

    def claim(self, start: int, end: int) -> Pages:
        """The pages of a range, which from now on counts as explained."""
        for number in self.residency.mappings_of(start, end):
            mapping = self.residency.mappings[number]
            pages = self.residency.pages(max(start, mapping.start), min(end, mapping.end))
            self.explained[number] += float(pages.sum(dtype=np.float64)) * PAGE
        return self.residency.pages(start, end)

    def add(self, what: str, ranges: Iterable[tuple[int, int]]) -> None:
        """Ranges (start, bytes) of whole pages that are all one thing."""
        for start, count in ranges:
            self.sums[what] += float(self.claim(start, start + count).sum(dtype=np.float64)) * PAGE

    def heap(self, heap: Heap) -> None:
        """Everything that the walk found."""
        self.classes = [self._class(g, list(slabs.values())) for g, slabs in zip(heap.classes, heap.slabs, strict=True)]
        self.add("live_runs", ((large.start, large.bytes) for large in heap.runs))
        self.add("live_mappings", ((large.start, large.bytes) for large in heap.mappings))
        self.add("slack", ((one.start + one.bytes, one.extent - one.bytes) for one in [*heap.runs, *heap.mappings]))
        self.add("waiting_large", ((large.start, large.extent) for large in heap.waiting))
        self._units(heap)
        self.add("records", pages_of(heap.records))

    # ---- slabs ----

    def _class(self, geometry: SizeClass, slabs: Sequence[Slab]) -> ClassSum:
        blocks, carved = sum(s.blocks for s in slabs), sum(s.carved for s in slabs)
        total = ClassSum(geometry.size, len(slabs), blocks, carved, aligned=geometry.aligned)
        for units, colour in sorted({(slab.units, slab.colour) for slab in slabs}):
            alike = [slab for slab in slabs if (slab.units, slab.colour) == (units, colour)]
            batch = max(1, BATCH // alike[0].blocks)
            for first in range(0, len(alike), batch):
                self._slabs(total, geometry, alike[first : first + batch])
        self.sums["live_small"] += total.resident[LIVE]
        self.sums["fresh"] += total.resident[FRESH] - total.page_rests
        self.sums["page_rests"] += total.page_rests
        self.sums["tails"] += total.tail
        self.sums["at_hand"] += total.resident[CACHED] - total.waiting
        self.sums["inboxes"] += total.waiting
        self.sums["free_in_use"] += total.resident[FREE] - total.free_in_empty
        self.sums["free_in_empty"] += total.free_in_empty
        return total

    def _slabs(self, total: ClassSum, geometry: SizeClass, slabs: Sequence[Slab]) -> None:
        """Slabs of one length and colour."""
        pages = np.stack([self.claim(slab.unit, slab.unit + slab.units * UNIT) for slab in slabs])
        states, waiting = states_of(geometry, slabs)
        resident = resident_blocks(geometry.size, slabs[0].blocks, pages, slabs[0].colour)
        for state in range(4):
            chosen = states == state
            total.count[state] += int(np.count_nonzero(chosen))
            total.resident[state] += float(resident.sum(where=chosen, dtype=np.float64))
        total.page_rests += page_rests(geometry.size, slabs, pages)
        total.waiting += float(resident.sum(where=waiting & (states == CACHED), dtype=np.float64))
        empty = ~((states == LIVE) | (states == CACHED)).any(axis=1)
        total.free_in_empty += float(resident[empty].sum(where=states[empty] == FREE, dtype=np.float64))
        total.tail += float(pages.sum(dtype=np.float64)) * PAGE - float(resident.sum(dtype=np.float64))

    # ---- superslabs ----

    def _units(self, heap: Heap) -> None:
        """Free units; and units that neither are free nor belong to a block, because they are on their way."""
        owned = set()
        for slabs in heap.slabs:
            owned.update(unit for slab in slabs.values() for unit in _units_of(slab.unit, slab.units))
        owned.update(unit for large in heap.large for unit in _units_of(large.start, large.extent // UNIT))
        for superslab in heap.superslabs:
            for unit in range(superslab.units):
                start, bit = superslab.start + unit * UNIT, 1 << unit
                if start in owned:
                    continue
                pages = float(self.claim(start, start + UNIT).sum(dtype=np.float64)) * PAGE
                if not superslab.free & bit:
                    self.sums["on_the_way"] += pages
                elif superslab.dirty & bit:
                    self.sums["dirty_units"] += pages
                elif superslab.stale & bit:
                    self.sums["lazy_units"] += pages
                else:
                    self.sums["clean_units"] += pages


def _units_of(start: int, units: int) -> range:
    return range(start, start + units * UNIT, UNIT)


def states_of(geometry: SizeClass, slabs: Sequence[Slab]) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """The state of every block of slabs of one class, and which of them others freed: a row for each slab."""
    blocks, words = slabs[0].blocks, geometry.words
    raw = np.frombuffer(b"".join(slab.bits for slab in slabs), np.uint8).reshape(len(slabs), 2, 8 * words)
    bits = np.unpackbits(raw, axis=2, bitorder="little")[:, :, :blocks].astype(bool)
    free, waiting = bits[:, 0], bits[:, 1]
    carved = np.arange(blocks) < np.array([slab.carved for slab in slabs])[:, None]
    at_hand = np.zeros((len(slabs), blocks), bool)
    for row, slab in enumerate(slabs):
        at_hand[row, slab.cached] = True
    states = np.full((len(slabs), blocks), LIVE, np.uint8)
    states[waiting | at_hand] = CACHED
    states[free] = FREE
    states[~carved] = FRESH
    return states, waiting


def resident_blocks(size: int, blocks: int, pages: Pages, colour: int = 0) -> NDArray[np.float32]:
    """The resident bytes of every block, where `pages` has a row of shares for each slab, whose first block begins behind `colour` bytes."""
    count = len(pages)
    if pages.all() and float(pages.min(initial=1)) == 1:
        return np.full((count, blocks), size, np.float32)
    below = np.concatenate([np.zeros((count, 1), np.float32), np.cumsum(pages, axis=1)], axis=1) * PAGE
    shares = np.concatenate([pages, np.zeros((count, 1), np.float32)], axis=1)
    edges = colour + np.arange(blocks + 1) * size
    upto = below[:, edges // PAGE] + shares[:, edges // PAGE] * (edges % PAGE).astype(np.float32)
    return np.diff(upto, axis=1)


def page_rests(size: int, slabs: Sequence[Slab], pages: Pages) -> float:
    """The resident bytes between the last block that was ever handed out and the end of its page, slab by slab."""
    colour = slabs[0].colour
    carved = np.array([colour + slab.carved * size if slab.carved else 0 for slab in slabs])
    ends = np.minimum(-(-carved // PAGE) * PAGE, colour + slabs[0].blocks * size)
    last = np.minimum(carved // PAGE, pages.shape[1] - 1)
    return float(((ends - carved) * pages[np.arange(len(slabs)), last]).sum())


def pages_of(records: Iterable[tuple[int, int]], near: int = NEAR) -> list[tuple[int, int]]:
    """The whole pages on which records (start, bytes) lie, as ranges, with small gaps between records closed."""
    ranges: list[list[int]] = []
    for start, count in sorted(records):
        low, high = start // PAGE * PAGE, -(-(start + count) // PAGE) * PAGE
        if ranges and low <= ranges[-1][1] + near:
            ranges[-1][1] = max(ranges[-1][1], high)
        else:
            ranges.append([low, high])
    return [(low, high - low) for low, high in ranges]
