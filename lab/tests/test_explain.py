"""The arithmetic of `hakmem explain`, on slabs and mappings made up here; tests/explain looks at real processes."""

from __future__ import annotations

import dataclasses
import mmap
import os
import struct
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from lab.explain import account, layout, others, problems, smaps, symbol
from lab.explain.account import CACHED, FREE, FRESH, LIVE
from lab.explain.memory import PAGE, Memory
from lab.explain.problems import TornError
from lab.explain.residency import Residency
from lab.explain.smaps import Mapping
from lab.explain.walk import UNIT, SizeClass, Slab, Walk
from lab.tests.memory import FakeMemory

SMAPS = """\
20000000-20400000 rw-p 00000000 00:00 0                  [anon:hakmem slabs]
Rss:                2048 kB
AnonHugePages:      2048 kB
7f0000000000-7f0000003000 r-xp 00001000 08:01 77         /lib/a b.so (deleted)
Rss:                  12 kB
AnonHugePages:         0 kB
"""


def mapping(start: int, pages: int, rss: int = 0, name: str = "", inode: int = 0) -> Mapping:
    return Mapping(start, start + pages * PAGE, "rw-p", 0, inode, name, rss)


def slab(
    blocks: int, carved: int, free: Sequence[int] = (), waiting: Sequence[int] = (), cached: Sequence[int] = ()
) -> Slab:
    words = [0] * 4
    for number in free:
        words[number // 64] |= 1 << number % 64
    for number in waiting:
        words[2 + number // 64] |= 1 << number % 64
    return Slab(UNIT, 1, blocks, carved, struct.pack("=4Q", *words), list(cached))


def test_smaps_are_read() -> None:
    first, second = smaps.parse(SMAPS)
    assert (first.start, first.end, first.rss, first.huge) == (0x20000000, 0x20400000, 2 << 20, 2 << 20)
    assert (second.name, second.inode, second.offset, second.of_file) == ("/lib/a b.so (deleted)", 77, 0x1000, True)


@pytest.mark.parametrize(("last", "torn"), [(0, 0), (0x10, 1), (0x20, 1), (0x30, 1), (0x999, 1)])
def test_a_list_that_was_read_while_it_changed_has_an_end(last: int, torn: int) -> None:
    memory = FakeMemory()
    memory.describe([(name, 0x50, 0) for name in layout.ROOTS], [(name, 8, 8) for name in (*layout.FIELDS, "slab.next")])
    memory.put(0x50, b"")
    memory.put(0x100, struct.pack("=Q", 0x10))
    for at, following in ((0x10, 0x20), (0x20, 0x30), (0x30, last)):
        memory.put(at + 8, struct.pack("=Q", following))
    walk = Walk(memory, memory.layout(), None)  # type: ignore[arg-type]
    found = list(walk._list(0x100, "slab.next"))
    assert found == [0x10, 0x20, 0x30] and walk.heap.torn == torn


def walk_of_packs(memory: FakeMemory) -> Walk:
    """A reader of packs, with 64 blocks of 64 bytes where they may lie."""
    values = {"pack": 8, "pack.head": 0, "pack_words": 32, "pack_deep_words": 128}
    memory.describe([(name, 0x50, 0) for name in layout.ROOTS], [(name, values.get(name, 8), 8) for name in layout.FIELDS])
    memory.put(0x50, b"")
    walk = Walk(memory, memory.layout(), None)  # type: ignore[arg-type]
    walk._slab_at[UNIT] = (slab(64, 64), SizeClass(0, 64, 2))
    return walk


def test_packs_are_read_as_long_as_they_are() -> None:
    """The head of each has the next one's address and, in its low byte, how many blocks follow; more than 30 need a long record."""
    memory = FakeMemory()
    counts, blocks = (30, 31, 3), [UNIT + 64 * number for number in range(64)]
    packs = [0x10000 * (1 + number) for number in range(len(counts))]
    for at, below, count in zip(packs, (*packs[1:], 0), counts, strict=True):
        memory.put(at, struct.pack(f"={1 + count}Q", below | count, *blocks[:count]).ljust(1024, b"\0"))
        del blocks[:count]
    walk = walk_of_packs(memory)
    walk._packs(packs[0])
    assert walk._slab_at[UNIT][0].cached == list(range(64))
    assert walk.heap.records == [(packs[0], 256), (packs[1], 1024), (packs[2], 256)]


def test_a_class_may_have_as_many_packs_as_a_heap() -> None:
    memory = FakeMemory()
    chain = b"".join(struct.pack("=Q248x", (0x100000 + 256 * (1 + number) if number < 4094 else 0)) for number in range(4095))
    memory.put(0x100000, chain)
    walk = walk_of_packs(memory)
    walk._packs(0x100000)
    assert len(walk.heap.records) == 4095
    memory.put(0x100000, struct.pack("=Q248x", 0x100000))
    with pytest.raises(TornError):
        walk._packs(0x100000)


def test_the_state_of_a_block() -> None:
    geometry = SizeClass(0, 640, 2)
    states, waiting = account.states_of(geometry, [slab(102, 100, [0, 70], [1], [2, 70, 101])])
    expected = np.full(102, LIVE)
    expected[[0, 70]] = FREE  # a free bit wins over a pointer that was read before it
    expected[[1, 2]] = CACHED
    expected[[100, 101]] = FRESH
    assert (states[0] == expected).all() and list(np.flatnonzero(waiting[0])) == [1]


def test_a_block_is_resident_as_far_as_its_pages_are() -> None:
    pages = np.zeros((2, UNIT // PAGE), np.float32)
    pages[0, 0] = pages[0, 2] = 1
    pages[1] = 0.5
    resident = account.resident_blocks(3072, 21, pages)
    assert list(resident[0][:5]) == [3072, 1024, 1024, 3072, 0]
    assert resident[0].sum() == 2 * PAGE and (resident[1] == 1536).all()
    assert (account.resident_blocks(3072, 21, np.ones_like(pages)) == 3072).all()
    coloured = account.resident_blocks(3072, 21, pages, 960)
    assert list(coloured[0][:5]) == [3072, 64, 1984, 2112, 0] and (coloured[1] == 1536).all()


def test_the_classes_for_alignment_are_those_with_which_the_table_begins_anew() -> None:
    memory = FakeMemory()
    shape = {"sizeclass": (16, 0), "sizeclass.size": (0, 8), "sizeclass.words": (8, 8)}
    fields = [(name, *shape.get(name, (8, 8))) for name in layout.FIELDS]
    memory.describe([(name, 0x50, 5 * 16 if name == "sizeclass_table" else 0) for name in layout.ROOTS], fields)
    memory.put(0x50, b"".join(struct.pack("=2Q", size, 1) for size in (16, 512, 32832, 256, 512)))
    found = Walk(memory, memory.layout(), []).heap.classes  # type: ignore[arg-type]
    assert [(one.size, one.aligned) for one in found] == [(16, False), (512, False), (32832, False), (256, True), (512, True)]


def test_what_shares_a_page_with_a_block_is_no_huge_page() -> None:
    pages = np.ones((3, UNIT // PAGE), np.float32)
    pages[2] = 0
    slabs = [slab(65, 3), slab(65, 65), slab(65, 3)]
    assert account.page_rests(1000, slabs, pages) == PAGE - 3000
    coloured = [dataclasses.replace(one, start=UNIT + 960) for one in [*slabs, slab(64, 0)]]
    assert account.page_rests(1000, coloured, np.ones((4, UNIT // PAGE), np.float32)) == 2 * (PAGE - 3960)


def test_pages_of_records() -> None:
    records = [(PAGE + 100, 50), (PAGE + 4000, 200), (40 * PAGE, 1)]
    assert account.pages_of(records) == [(PAGE, 2 * PAGE), (40 * PAGE, PAGE)]
    assert account.pages_of(records, near=64 * PAGE) == [(PAGE, 40 * PAGE)]


def touched() -> tuple[mmap.mmap, int]:
    """A mapping of 8 pages: 0 and 5 written, 3 only read. Its address is found in our own smaps."""
    memory = mmap.mmap(-1, 8 * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    memory[0] = memory[5 * PAGE] = 1
    assert memory[3 * PAGE] == 0
    return memory, np.frombuffer(memory, np.uint8).ctypes.data


def test_residency_of_real_pages() -> None:
    memory, address = touched()
    own = smaps.read(os.getpid())
    residency = Residency(os.getpid(), own)
    if not residency.exact:
        pytest.skip("pagemap cannot be read here")
    pages = residency.pages(address, address + 8 * PAGE)
    assert pages[0] == pages[5] == 1 or not residency._scans
    if residency._scans:
        assert list(np.flatnonzero(pages)) == [0, 5], "the page of zeros does not count"
    residency.close()
    older = Residency(os.getpid(), own)
    older._scans = False
    (home,) = older.mappings_of(address, address + 8 * PAGE)
    assert older._of_mapping(home).sum() * PAGE <= own[home].rss * 1.01 + 1
    older.close()
    del memory


def test_an_estimate_prefers_what_was_used() -> None:
    residency = Residency(os.getpid(), [mapping(UNIT, 16, rss=6 * PAGE)], estimate=True)
    residency.expect([(UNIT + 100, 4 * PAGE - 100)])
    pages = residency.pages(UNIT - PAGE, UNIT + 16 * PAGE)
    assert not residency.exact and pages[0] == 0 and (pages[1:5] == 1).all()
    assert pages[5:] == pytest.approx(2 / 12) and pages.sum() == pytest.approx(6)


def test_what_is_left_by_kind() -> None:
    mappings = [
        mapping(UNIT, 4, 4 * PAGE, "/usr/lib/libc.so", inode=5),
        mapping(2 * UNIT, 4, 4 * PAGE),
        mapping(3 * UNIT, 4, 4 * PAGE),
        mapping(4 * UNIT, 4, PAGE, "[heap]"),
        mapping(5 * UNIT, 4, PAGE, "[anon:hakmem slabs]"),
    ]
    left = others.rest(mappings, Counter({2: 3 * PAGE}), [2 * UNIT + 5])
    assert left == {"files": 4 * PAGE, "stacks": 4 * PAGE, "anonymous": PAGE, "brk": PAGE, others.OURS: PAGE}


def test_memory_that_is_not_mapped_is_torn() -> None:
    with Memory(os.getpid()) as memory:
        for address in (0, 16, 1 << 60):
            with pytest.raises(TornError):
                memory.read(address, 8)
        text = np.frombuffer(b"some words that are long enough", np.uint8)
        assert memory.read(text.ctypes.data + 5, 5) == b"words"


def test_a_process_without_the_symbol() -> None:
    with Memory(os.getpid()) as memory:
        assert symbol.find(memory, [], "") is None


@pytest.mark.parametrize(("scope", "words"), [("0", "as its user or as root"), ("1", "ptrace_scope=0"), ("3", "is 3")])
def test_the_way_out_that_yama_asks_for(monkeypatch, tmp_path, scope: str, words: str) -> None:
    (tmp_path / "scope").write_text(scope + "\n")
    monkeypatch.setattr(problems, "YAMA", tmp_path / "scope")
    error = problems.not_permitted(7)
    assert error.status == 2 and "process 7 may not be read" in error.message and words in error.fix


def test_another_version_is_named() -> None:
    error = problems.other_version(7, "version 9", "3.0.0")
    assert "hakmem 3.0.0" in error.message and "version 9" in error.message
