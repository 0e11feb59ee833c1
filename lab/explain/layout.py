"""What hakmem_layout says: src/layout.h. Roots and fields by name."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from lab.explain import symbol
from lab.explain.memory import Memory
from lab.explain.plain import printable
from lab.explain.problems import TornError, not_on_hakmem, other_version
from lab.explain.smaps import Mapping

VERSION = 5
HEAD = struct.Struct("=16sIIII16s16sQQQ")
ADDRESS, FIELD = struct.Struct("=Q"), struct.Struct("=24sII")
MOST_ROWS = 1000
ROOTS = (
    "sizeclass_table metadata_state.at metadata_state.end pagemap_window pagemap_chunks pagemap_leaves "
    "superslabs.count superslabs.first superslab_groups large_cache larges.stuck larges.recent.stack heaps.all"
).split()
FIELDS = (
    "sizeclass sizeclass.size sizeclass.words pagemap_chunk pagemap_leaf pagemap_leaf.record "
    "pagemap_leaf.units superslab_group superslab_group.member superslab superslab.start superslab.units superslab.free superslab.dirty "
    "superslab.stale slab slab.start slab.units slab.blocks slab.carved slab.class slab.remote large "
    "large.start large.bytes large.extent large.next heap.hand large_hand.recent spare_recent spare_recent.stack outbox outbox.count outbox.blocks "
    "marks_table marks.start marks.span marks.bytes heap.marks "
    "heap heap.top heap.idle heap.outbox heap.next heap.class heap_class "
    "heap_class.array heap_class.words heap_class.spare heap_class.spare_count heap_class.sentinel heap.packs "
    "packs.of pack_stack pack_stack.newest pack pack.head pack_words pack_deep_words"
).split()


@dataclass(frozen=True)
class Root:
    """An object of the library in the process."""

    address: int
    bytes: int


class Layout:
    """Roots, and fields of records, by the names of src/layout.def."""

    def __init__(self, memory: Memory, address: int) -> None:
        head = HEAD.unpack(memory.read(address, HEAD.size))
        _, version, roots, fields, _, variant, release, addresses, root_table, field_table = head
        self.address = address
        self.variant, self.release = printable(_name(variant)), printable(_name(release))
        if version != VERSION or max(roots, fields) > MOST_ROWS:
            raise other_version(memory.pid, f"version {version}", self.release)
        try:
            places = [at for (at,) in ADDRESS.iter_unpack(memory.read(addresses, roots * ADDRESS.size))]
            root_rows, field_rows = (
                list(FIELD.iter_unpack(memory.read(table, rows * FIELD.size)))
                for table, rows in ((root_table, roots), (field_table, fields))
            )
        except TornError:
            raise other_version(memory.pid, "torn", self.release) from None
        self.roots = {_name(name): Root(at, count) for at, (name, _, count) in zip(places, root_rows, strict=True)}
        self._fields = {_name(name): (offset, count) for name, offset, count in field_rows}
        missing = [name for name in ROOTS if name not in self.roots]
        missing += [name for name in FIELDS if name not in self._fields]
        if missing:
            raise other_version(memory.pid, f"without {missing[0]}", self.release)

    def has(self, name: str) -> bool:
        """Is there a root or a field of this name?"""
        return name in self.roots or name in self._fields

    def value(self, name: str) -> int:
        """The offset of a field; the size of a record (`slab`); a number of a room."""
        return self._fields[name][0]

    def length(self, name: str) -> int:
        """How long a field is."""
        return self._fields[name][1]

    def number(self, record: bytes, name: str) -> int:
        """The unsigned number in the field `name` of a record's bytes."""
        offset, count = self._fields[name]
        return int.from_bytes(record[offset : offset + count], "little")


def find(memory: Memory, mappings: Sequence[Mapping], program: str) -> Layout:
    """That of the process, which runs the file `program`. Raises LabError when it is not on hakmem."""
    address = symbol.find(memory, mappings, program)
    if address is None:
        raise not_on_hakmem(memory.pid)
    return Layout(memory, address)


def _name(text: bytes) -> str:
    return text.split(b"\0")[0].decode("ascii", "replace")
