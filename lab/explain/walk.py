"""The heap as its own records tell it: superslabs, slabs, large blocks, caches, heaps. src/layout.def names the fields.

The process may go on meanwhile. So every list is bounded, every record is checked against what it must be, and what
makes no sense is left out: it shows up as the part of a superslab that nobody claims.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lab.explain.layout import Layout
from lab.explain.memory import PAGE, Memory
from lab.explain.problems import TornError
from lab.explain.residency import Residency

WORD = 8
UNIT_SHIFT = 16
UNIT = 1 << UNIT_SHIFT
LINE = 64
SUPERSLAB_UNITS = 64
RUN, MAPPING = 0x80, 0x82  # kinds of pagemap.h beside the size classes
MOST_UNITS = 8  # of a slab
PACKS_MOST = 4096  # of a class, and more
PACK_ALIGNED = 256
PACK_OTHER_WORDS = 2  # of a pack: its head, and one that it leaves to the newest block of an array
MAGAZINE_MOST = 2048  # bytes of an array, and more
MOST_RECORDS, MOST_CHUNK = 1 << 24, 1 << 30


def _lines(count: int) -> int:
    """So many bytes, to the end of the cache line."""
    return -(-count // LINE) * LINE


@dataclass(frozen=True)
class SizeClass:
    """A row of sizeclass_table."""

    number: int
    size: int
    words: int
    aligned: bool = False  # for requests for an alignment: the table begins anew with them, behind all others


@dataclass
class Slab:
    """A slab record and the blocks of it that a thread has at hand."""

    start: int  # of the first block
    units: int
    blocks: int
    carved: int
    bits: bytes  # free words, then words of bits that others freed
    cached: list[int] = field(default_factory=list)  # numbers of blocks

    @property
    def colour(self) -> int:
        """Bytes from where its first unit starts to its first block."""
        return self.start % UNIT

    @property
    def unit(self) -> int:
        """Where its first unit starts."""
        return self.start - self.colour


@dataclass(frozen=True)
class Superslab:
    """Address space in units; the masks have a bit a unit."""

    start: int
    units: int
    free: int
    dirty: int
    stale: int


@dataclass(frozen=True)
class Large:
    """A large block that lives or waits to be used again. It stands on `extent` bytes, from `bytes` on slack."""

    start: int
    bytes: int
    extent: int


@dataclass
class Heap:
    """All that could be read."""

    classes: list[SizeClass]
    superslabs: list[Superslab] = field(default_factory=list)
    slabs: list[dict[int, Slab]] = field(default_factory=list)  # for each class: by where they begin
    runs: list[Large] = field(default_factory=list)  # live, in superslabs
    mappings: list[Large] = field(default_factory=list)  # live, each a mapping
    waiting: list[Large] = field(default_factory=list)  # of both kinds
    records: list[tuple[int, int]] = field(default_factory=list)  # start and bytes of the allocator's own records
    threads: int = 0  # heaps that belong to a thread
    torn: int = 0  # what was left out because it made no sense

    @property
    def large(self) -> list[Large]:
        """All large blocks."""
        return [*self.runs, *self.mappings, *self.waiting]


def used_ranges(heap: Heap) -> Iterator[tuple[int, int]]:
    """What was ever handed out and not given back since, as (start, bytes)."""
    for geometry, slabs in zip(heap.classes, heap.slabs, strict=True):
        yield from ((slab.start, slab.carved * geometry.size) for slab in slabs.values())
    yield from ((large.start, large.bytes) for large in heap.large)
    yield from heap.records
    for superslab in heap.superslabs:
        used = superslab.dirty | superslab.stale
        yield from ((superslab.start + i * UNIT, UNIT) for i in range(superslab.units) if used >> i & 1)


class Walk:
    """One walk through the records of one process."""

    def __init__(self, memory: Memory, layout: Layout, residency: Residency) -> None:
        self.memory, self.layout, self.residency = memory, layout, residency
        self.heap = Heap(self._classes())
        self.heap.slabs = [{} for _ in self.heap.classes]
        self._slab_at: dict[int, tuple[Slab, SizeClass]] = {}

    def all(self) -> Heap:
        """Everything; the caches last, because what a thread has at hand was carved before."""
        self._superslabs()
        self._tags_of_window()
        self._tags_of_leaves()
        self._waiting()
        for geometry, slabs in zip(self.heap.classes, self.heap.slabs, strict=True):
            self._slab_at.update((start, (slab, geometry)) for start, slab in slabs.items())
        self._threads()
        self._own_rest()
        return self.heap

    # ---- tables ----

    def _classes(self) -> list[SizeClass]:
        root, row, number = self.layout.roots["sizeclass_table"], self.layout.value("sizeclass"), self.layout.number
        text = self.memory.read(root.address, root.bytes)
        records = [text[at : at + row] for at in range(0, len(text), row)]
        sizes = [number(r, "sizeclass.size") for r in records]
        usual = next((i for i in range(1, len(sizes)) if sizes[i] < sizes[i - 1]), len(sizes))
        words = [number(r, "sizeclass.words") for r in records]
        return [SizeClass(i, *shape, aligned=i >= usual) for i, shape in enumerate(zip(sizes, words, strict=True))]

    def _table(self, start: int, count: int) -> bytes:
        """A table of which only some pages were ever touched: the others are zero, and stay untouched."""
        low, high = start // PAGE * PAGE, -(-(start + count) // PAGE) * PAGE
        text = bytearray(high - low)
        pages = self.residency.pages(low, high) if self.residency.exact else np.ones(len(text) // PAGE)
        for page in np.flatnonzero(pages):
            at = int(page) * PAGE
            text[at : at + PAGE] = self.memory.read(low + at, PAGE)
        return bytes(text[start - low : start - low + count])

    def _words(self, start: int, count: int) -> NDArray[np.uint64]:
        return np.frombuffer(self._table(start, count), np.uint64)

    def _record(self, address: int, kind: str, more: int = 0) -> bytes:
        """The bytes of a record, which is noted as one of the allocator's own."""
        count = self.layout.value(kind) + more
        if address % WORD:
            raise TornError("no record")
        text = self.memory.read(address, count)
        self.heap.records.append((address, count))
        return text

    # ---- superslabs, slabs, large blocks ----

    def _superslab_addresses(self) -> Iterator[int]:
        """Those of the records, by groups: the first one lies apart, and its place in the table is empty."""
        count = self.memory.number(self.layout.roots["superslabs.count"].address, 4)
        first, groups = self.layout.roots["superslabs.first"], self.layout.roots["superslab_groups"]
        row, member = (self.layout.value(name) for name in ("superslab_group", "superslab_group.member"))
        each = (row - member) // WORD
        count = min(count, groups.bytes // row * each)
        for group in range(-(-count // each)):
            start = groups.address + group * row if group else first.address
            yield from map(int, self._words(start + member, min(count - group * each, each) * WORD))

    def _superslabs(self) -> None:
        number = self.layout.number
        for address in self._superslab_addresses():
            try:
                record = self._record(address, "superslab")
            except TornError:
                self.heap.torn += 1
                continue
            names = ("start", "units", "free", "dirty", "stale")
            superslab = Superslab(*(number(record, f"superslab.{name}") for name in names))
            if superslab.start and superslab.start % UNIT == 0 and superslab.units <= SUPERSLAB_UNITS:
                self.heap.superslabs.append(superslab)

    def _tags_of_window(self) -> None:
        window, chunks = self.layout.roots["pagemap_window"], self.layout.roots["pagemap_chunks"]
        tags = np.frombuffer(self._table(window.address, window.bytes), np.uint32)
        tables = self._words(chunks.address, chunks.bytes)
        chunk_bytes = self.layout.value("pagemap_chunk")
        chunk_units = chunk_bytes // WORD
        for chunk in np.flatnonzero(tables):
            self.heap.records.append((int(tables[chunk]), chunk_bytes))
            first = int(chunk) * chunk_units
            self._units(first, tags[first : first + chunk_units], int(tables[chunk]))

    def _tags_of_leaves(self) -> None:
        leaves, units = self.layout.roots["pagemap_leaves"], self.layout.value("pagemap_leaf.units")
        tables = self._words(leaves.address, leaves.bytes)
        for leaf in np.flatnonzero(tables):
            address = int(tables[leaf])
            self.heap.records.append((address, self.layout.value("pagemap_leaf")))
            tags = np.frombuffer(self._table(address, 4 * units), np.uint32)
            self._units(int(leaf) * units, tags, address + self.layout.value("pagemap_leaf.record"))

    def _units(self, first: int, tags: NDArray[np.uint32], table: int) -> None:
        """Units from `first` on with their tags and the table of their records."""
        used = np.flatnonzero(tags)
        if not len(used):
            return
        records = self._words(table, len(tags) * WORD)
        for index in used:
            kind, address = int(tags[index]) & 0xFF, int(records[index])
            try:
                self._unit((first + int(index)) << UNIT_SHIFT, kind, address)
            except TornError:
                self.heap.torn += 1

    def _unit(self, start: int, kind: int, address: int) -> None:
        if kind < len(self.heap.classes):
            self._slab(start, kind, address)
        elif kind in (RUN, MAPPING):
            large = self._large(address)
            if large.start == start:
                (self.heap.runs if kind == RUN else self.heap.mappings).append(large)

    def _slab(self, start: int, number: int, address: int) -> None:
        """Noted at its first unit; the others lead to the same record."""
        geometry = self.heap.classes[number]
        first = self.memory.number(address + self.layout.value("slab.start")) if address else 0
        if first // UNIT * UNIT != start:
            return
        near = min(WORD * geometry.words, self.layout.length("slab.remote"))
        own, far = _lines(WORD * geometry.words), WORD * geometry.words - near
        record = self._record(address, "slab", own + _lines(far))
        units, blocks, carved = (self.layout.number(record, f"slab.{name}") for name in ("units", "blocks", "carved"))
        fits = carved <= blocks and first % UNIT + blocks * geometry.size <= units * UNIT and blocks <= 64 * geometry.words
        if self.layout.number(record, "slab.class") != number or not 0 < units <= MOST_UNITS or not fits:
            raise TornError("not a slab of the class")
        size, remote = self.layout.value("slab"), self.layout.value("slab.remote")
        bits = record[size : size + near + far] + record[remote : remote + near] + record[size + own : size + own + far]
        self.heap.slabs[number][start] = Slab(first, units, blocks, carved, bits)

    def _large(self, address: int, at_hand: bool = False) -> Large:
        """From its first unit on. One that is among those freed last is said to start a unit before that."""
        record = self._record(address, "large")
        start, *lengths = (self.layout.number(record, f"large.{name}") for name in ("start", "bytes", "extent"))
        large = Large((start // UNIT + at_hand) * UNIT, *lengths)
        if large.extent % PAGE or not 0 < large.bytes <= large.extent < 1 << 47:
            raise TornError("not a large block")
        return large

    def _waiting(self) -> None:
        """Large blocks that wait, and those that the kernel would not unmap: not live, whatever was read before."""
        cache = self.layout.roots["large_cache"]
        waiting = [int(address) for address in self._words(cache.address, cache.bytes) if address]
        waiting += self._list(self.layout.roots["larges.stuck"].address, "large.next")
        recent = self.layout.roots["larges.recent.stack"]
        stacks = [(recent.address, recent.bytes), *self._hands()]
        heads = (at for start, length in stacks for at in range(start, start + length, WORD))
        at_hand = [address for head in heads for address in self._list(head, "large.next")]
        found = {}
        for address, rests in [(address, False) for address in waiting] + [(address, True) for address in at_hand]:
            try:
                large = self._large(address, rests)
                found[large.start] = large
            except TornError:
                self.heap.torn += 1
        self.heap.waiting = list(found.values())
        self.heap.runs = [large for large in self.heap.runs if large.start not in found]
        self.heap.mappings = [large for large in self.heap.mappings if large.start not in found]

    def _hands(self) -> list[tuple[int, int]]:
        """The stacks of large blocks that threads have at hand."""
        hand = self.layout.value("heap.hand") + self.layout.value("large_hand.recent")
        stack, length = self.layout.value("spare_recent.stack"), self.layout.length("spare_recent.stack")
        found = []
        for heap in self._list(self.layout.roots["heaps.all"].address, "heap.next"):
            try:
                recent = self.memory.number(heap + hand)
                if recent:
                    self._record(recent, "spare_recent")
                    found.append((recent + stack, length))
            except TornError:
                self.heap.torn += 1
        return found

    def _list(self, head: int, link: str) -> Iterator[int]:
        """The records of a list, from the word at `head`; it ends where it makes no sense: pages that were read one after the
        other may make a ring of it."""
        seen: set[int] = set()
        try:
            address = self.memory.number(head)
            while address and len(seen) < MOST_RECORDS:
                if address in seen:
                    raise TornError("a list that bites its tail")
                seen.add(address)
                following = self.memory.number(address + self.layout.value(link))
                yield address
                address = following
        except TornError:
            self.heap.torn += 1

    # ---- what threads have at hand ----

    def _threads(self) -> None:
        for address in self._list(self.layout.roots["heaps.all"].address, "heap.next"):
            try:
                heap = self._record(address, "heap")
            except TornError:
                self.heap.torn += 1
                continue
            self.heap.threads += self.layout.number(heap, "heap.idle") == 0
            for geometry in self.heap.classes:
                self._take(self._magazine, heap, geometry)
            self._take(self._marked, heap)
            outbox = self.layout.number(heap, "heap.outbox")
            if outbox:
                self._take(self._outbox, outbox)

    def _take(self, part, *arguments) -> None:  # type: ignore[no-untyped-def]
        try:
            part(*arguments)
        except TornError:
            self.heap.torn += 1

    def _magazine(self, heap: bytes, geometry: SizeClass) -> None:
        """The blocks of the array below the top, and those of the spare."""
        value, number = self.layout.value, self.layout.number
        at = value("heap.class") + geometry.number * value("heap_class")
        mine = heap[at : at + value("heap_class")]
        array, spare = number(mine, "heap_class.array"), number(mine, "heap_class.spare")
        if array == 0:
            return
        at = value("heap.top") + geometry.number * WORD
        top = int.from_bytes(heap[at : at + WORD], "little")
        sentinel = array + number(mine, "heap_class.sentinel") * WORD
        count, spares = (top - sentinel) // WORD, number(mine, "heap_class.spare_count")
        end, words = array + number(mine, "heap_class.words") * WORD, value("pack_words")
        if not sentinel <= top < end <= array + MAGAZINE_MOST or spares > words - PACK_OTHER_WORDS:
            raise TornError("not a magazine")
        self.heap.records += [(array, end - array), (spare, words * WORD)]
        self._at_hand(sentinel + WORD, count)
        self._at_hand(spare + value("pack"), spares)
        at = value("heap.packs") + value("packs.of") + geometry.number * value("pack_stack")
        self._packs(number(heap[at : at + value("pack_stack")], "pack_stack.newest"))

    def _marked(self, heap: bytes) -> None:
        """The blocks of one slab that a long run of frees has marked, a byte each."""
        marks = heap[self.layout.value("heap.marks") :]
        start, span, table = (self.layout.number(marks, f"marks.{name}") for name in ("start", "span", "bytes"))
        if table == 0:
            return
        most = self.layout.value("marks_table")
        self.heap.records.append((table, most))
        found = self._slab_at.get(start // UNIT * UNIT)
        if span == 0 or not found:
            return
        for number in np.flatnonzero(np.frombuffer(self.memory.read(table, most), np.uint8)):
            self._note(start + int(number) * found[1].size)

    def _packs(self, pack: int) -> None:
        """The blocks that a long run of frees has put by. A pack's head is the next one's address, and in the low byte a count."""
        few, many = self.layout.value("pack_words"), self.layout.value("pack_deep_words")
        head_bytes = self.layout.value("pack")
        for _ in range(PACKS_MOST):
            if pack == 0:
                return
            head = self.layout.number(self.memory.read(pack, head_bytes), "pack.head")
            count = min(head % PACK_ALIGNED, many - PACK_OTHER_WORDS)
            words = few if count <= few - PACK_OTHER_WORDS else many
            self._record(pack, "pack", words * WORD - head_bytes)
            self._at_hand(pack + head_bytes, count)
            pack = head - head % PACK_ALIGNED
        raise TornError("packs without end")

    def _outbox(self, address: int) -> None:
        outbox = self._record(address, "outbox")
        most = (self.layout.value("outbox") - self.layout.value("outbox.blocks")) // WORD
        count = min(self.layout.number(outbox, "outbox.count"), most)
        self._at_hand(address + self.layout.value("outbox.blocks"), count)

    def _at_hand(self, address: int, count: int) -> None:
        if count == 0:
            return
        for block in np.frombuffer(self.memory.read(address, count * WORD), np.uint64):
            self._note(int(block))

    def _note(self, block: int) -> None:
        """Marks a block in its slab, which starts at one of the units up to the block's own."""
        unit = block >> UNIT_SHIFT << UNIT_SHIFT
        for geometry_units in range(MOST_UNITS):
            start = unit - geometry_units * UNIT
            found = self._slab_at.get(start)
            if found:
                slab, geometry = found
                number, rest = divmod(block - slab.start, geometry.size)
                if rest == 0 and 0 <= number < slab.carved:
                    slab.cached.append(number)
                return

    # ---- the allocator's own ----

    def _own_rest(self) -> None:
        """Records that wait to be used again, and the rest of the youngest chunk of metadata."""
        roots, value = self.layout.roots, self.layout.value
        if "larges.unused" in roots:
            unused = self._list(roots["larges.unused"].address, "large.next")
            self.heap.records += [(address, value("large")) for address in unused]
        if "slabs.unused" in roots:
            root = roots["slabs.unused"]
            for at in range(root.address, root.address + root.bytes, WORD):
                self.heap.records += [(address, value("slab")) for address in self._list(at, "slab.next")]
        at = self.memory.number(roots["metadata_state.at"].address)
        end = self.memory.number(roots["metadata_state.end"].address)
        if 0 < at <= end < at + MOST_CHUNK:
            self.heap.records.append((at, end - at))
