"""The symbols of an ELF file: which function is at an address, and which of them are hakmem's own."""

from __future__ import annotations

import bisect
import io
import itertools
from pathlib import Path
from typing import BinaryIO

import numpy as np
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection, SymbolTableSection
from numpy.typing import NDArray

ENTRY = np.dtype([("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")])
FUNCTIONS, OF_FILE = (2, 10), 4  # STT_FUNC and STT_GNU_IFUNC, STT_FILE
OWN_SOURCE = "hakmem.c"  # where the archive was linked in, its private functions follow this name
DEBUG_FILES = Path("/usr/lib/debug/.build-id")


class Symbols:
    """Functions by their address in the file; none of a file that is not understood, or without one."""

    def __init__(self, file: BinaryIO | None = None) -> None:
        self.build_id = ""
        self._segments: list[tuple[int, int, int]] = []  # offset, bytes, address
        self._entries: NDArray[np.void] = np.zeros(0, ENTRY)
        self._own: NDArray[np.bool_] = np.zeros(0, bool)
        self._strings = b""
        if file is not None:
            self._read(file)
        self._starts = [int(value) for value in self._entries["value"]]

    def address(self, offset: int) -> int:
        """Of what is at `offset` of the file; the offset itself when no segment has it."""
        for start, count, address in self._segments:
            if start <= offset < start + count:
                return offset - start + address
        return offset

    def at(self, address: int) -> tuple[str, bool] | None:
        """The symbol of the function that is at `address`, and whether hakmem's source has it; None when nobody knows."""
        place = bisect.bisect_right(self._starts, address) - 1
        if place < 0:
            return None
        entry = self._entries[place]
        if entry["size"] and address >= entry["value"] + entry["size"]:
            return None
        return self._name(entry), bool(self._own[place])

    def _read(self, file: BinaryIO) -> None:
        try:
            elf = ELFFile(file)
            loads = [one for one in elf.iter_segments() if one["p_type"] == "PT_LOAD"]
            self._segments = [(one["p_offset"], one["p_filesz"], one["p_vaddr"]) for one in loads]
            self.build_id = _build_id(elf)
            self._take(elf)
        except (ELFError, ValueError, UnicodeDecodeError):
            pass

    def _take(self, elf: ELFFile) -> None:
        section = _table(elf, ".symtab") or self._separate() or _table(elf, ".dynsym")
        if section is None:
            return
        text = section.data()
        entries = np.frombuffer(text[: len(text) // ENTRY.itemsize * ENTRY.itemsize], ENTRY)
        self._strings = section.stringtable.data()
        own = self._after_own_source(entries)
        kind = entries["info"] & 0xF
        wanted = np.flatnonzero(np.isin(kind, FUNCTIONS) & (entries["section"] != 0))
        found = entries[wanted]
        # Of several names for one address the last stays: the longer function, a global before a weak or a private one.
        rank = np.choose(np.minimum(found["info"] >> 4, 3), [0, 2, 1, 0])
        order = np.lexsort((rank, found["size"], found["value"]))
        found, wanted = found[order], wanted[order]
        last = np.ones(len(found), bool)
        last[:-1] = found["value"][1:] != found["value"][:-1]
        self._entries, self._own = found[last], own[wanted][last]

    def _separate(self) -> SymbolTableSection | None:
        """The symbol table that a distribution keeps apart."""
        try:
            text = (DEBUG_FILES / self.build_id[:2] / f"{self.build_id[2:]}.debug").read_bytes()
        except OSError:
            return None
        return _table(ELFFile(io.BytesIO(text)), ".symtab")

    def _after_own_source(self, entries: NDArray[np.void]) -> NDArray[np.bool_]:
        """The private symbols of hakmem's source: between its name and that of the next one."""
        own = np.zeros(len(entries), bool)
        sources = [int(i) for i in np.flatnonzero((entries["info"] & 0xF) == OF_FILE)]
        private = entries["info"] >> 4 == 0
        for source, following in itertools.pairwise([*sources, len(entries)]):
            if self._name(entries[source]) == OWN_SOURCE:
                own[source:following] = private[source:following]
        return own

    def _name(self, entry: np.void) -> str:
        start = int(entry["name"])
        return self._strings[start : self._strings.find(b"\0", start)].decode("utf-8", "replace")


def _table(elf: ELFFile, name: str) -> SymbolTableSection | None:
    section = elf.get_section_by_name(name)
    return section if isinstance(section, SymbolTableSection) else None


def _build_id(elf: ELFFile) -> str:
    for section in elf.iter_sections():
        if isinstance(section, NoteSection):
            for note in section.iter_notes():
                if note["n_type"] == "NT_GNU_BUILD_ID":
                    return str(note["n_desc"])
    return ""
