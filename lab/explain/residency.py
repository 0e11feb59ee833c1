"""Which pages of a process are resident, and counted in its Rss: /proc/PID/pagemap.

The shared page of zeros is present in the page table of what was only read, and not counted in Rss. Kernels from 6.7 on
tell it apart (the ioctl PAGEMAP_SCAN); on older ones a mapping with more present pages than Rss has its pages weighted.
Where pagemap cannot be read at all, the Rss that smaps gives for a mapping is spread evenly over the pages that are
expected to be resident, and what is left over the others: the split is then an estimate, and `exact` is False.
"""

from __future__ import annotations

import array
import bisect
import fcntl
import os
import struct
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from lab.explain import process
from lab.explain.memory import PAGE
from lab.explain.smaps import Mapping

Pages = NDArray[np.float32]

PAGEMAP_SCAN = 0xC0606610
SCAN = struct.Struct("=12Q")  # struct pm_scan_arg of linux/fs.h
PRESENT, ZERO = 1 << 3, 1 << 5  # PAGE_IS_PRESENT, PAGE_IS_PFNZERO
REGIONS = 4096  # asked for at a time
WORD_PRESENT = np.uint64(1 << 63)


class Residency:
    """The share of each page of the process that is resident: 0 or 1 where the kernel tells."""

    def __init__(self, pid: int, mappings: Sequence[Mapping], estimate: bool = False) -> None:
        self.mappings = mappings
        self.exact = True
        self._starts = [mapping.start for mapping in mappings]
        self._known: dict[int, Pages] = {}
        self._expected: dict[int, NDArray[np.bool_]] = {}
        self._file = -1
        self._scans = True
        try:
            if not estimate:
                self._file = os.open(f"{process.directory(pid)}/pagemap", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            pass
        self.exact = self._file >= 0

    def close(self) -> None:
        """Gives the descriptor back."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    def mappings_of(self, start: int, end: int) -> list[int]:
        """The numbers of the mappings that start..end touches."""
        first = max(bisect.bisect_right(self._starts, start) - 1, 0)
        last = bisect.bisect_left(self._starts, end)
        return [i for i in range(first, last) if self.mappings[i].end > start]

    def pages(self, start: int, end: int) -> Pages:
        """The pages of start..end, which are multiples of a page; what is not mapped is not resident."""
        shares = np.zeros((end - start) // PAGE, np.float32)
        for number in self.mappings_of(start, end):
            mapping = self.mappings[number]
            low, high = max(start, mapping.start), min(end, mapping.end)
            known = self._of_mapping(number)[(low - mapping.start) // PAGE : (high - mapping.start) // PAGE]
            shares[(low - start) // PAGE : (high - start) // PAGE] = known
        return shares

    def expect(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Says what was used, as (start, bytes): only an estimate needs it."""
        for start, count in ranges if not self.exact else ():
            for number in self.mappings_of(start, start + count):
                mapping = self.mappings[number]
                expected = self._expected.setdefault(number, np.zeros((mapping.end - mapping.start) // PAGE, bool))
                low, high = max(start, mapping.start) - mapping.start, min(start + count, mapping.end) - mapping.start
                expected[low // PAGE : -(-high // PAGE)] = True
                self._known.pop(number, None)

    def _of_mapping(self, number: int) -> Pages:
        if number not in self._known:
            mapping = self.mappings[number]
            pages = self._ask(mapping) if self.exact else self._guess(number)
            resident = float(pages.sum(dtype=np.float64)) * PAGE
            if resident > mapping.rss and not self._scans:
                pages *= np.float32(mapping.rss / resident)
            self._known[number] = pages
        return self._known[number]

    def _guess(self, number: int) -> Pages:
        mapping = self.mappings[number]
        pages = (mapping.end - mapping.start) // PAGE
        expected = self._expected.get(number, np.zeros(pages, bool))
        used, resident = int(expected.sum()), mapping.rss / PAGE
        likely = min(1.0, resident / used) if used else 0.0
        others = max(0.0, resident - used) / (pages - used) if pages > used else 0.0
        return np.where(expected, likely, others).astype(np.float32)

    def _ask(self, mapping: Mapping) -> Pages:
        try:
            if self._scans:
                return self._scan(mapping)
        except OSError:
            self._scans = False
        try:
            return self._words(mapping)
        except OSError:
            return np.ones((mapping.end - mapping.start) // PAGE, np.float32)

    def _scan(self, mapping: Mapping) -> Pages:
        pages = np.zeros((mapping.end - mapping.start) // PAGE, np.float32)
        found = array.array("Q", bytes(24 * REGIONS))
        at, (place, _) = mapping.start, found.buffer_info()
        while at < mapping.end:
            asked = SCAN.pack(96, 0, at, mapping.end, 0, place, REGIONS, 0, ZERO, PRESENT | ZERO, 0, PRESENT)
            words = bytearray(asked)
            count = fcntl.ioctl(self._file, PAGEMAP_SCAN, words)
            for i in range(count):
                low, high = found[3 * i], found[3 * i + 1]
                pages[(low - mapping.start) // PAGE : (high - mapping.start) // PAGE] = 1
            walked = SCAN.unpack(words)[4]
            if walked <= at:
                break
            at = walked
        return pages

    def _words(self, mapping: Mapping) -> Pages:
        count = (mapping.end - mapping.start) // PAGE
        text = os.pread(self._file, 8 * count, mapping.start // PAGE * 8)
        words = np.zeros(count, np.uint64)
        read = np.frombuffer(text[: len(text) // 8 * 8], np.uint64)
        words[: len(read)] = read
        return (words & WORD_PRESENT != 0).astype(np.float32)
