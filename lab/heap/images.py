"""The files whose code is mapped in a process, and the name of the function at an address.

Of a return address the call stands before it: all names are those of the byte before.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from lab.explain import mapped
from lab.explain.layout import Layout
from lab.explain.plain import printable
from lab.explain.smaps import Mapping
from lab.heap.names import demangled, short
from lab.heap.sites import MOST_CALLERS
from lab.heap.symbols import Symbols

EXPORTS = Path(__file__).resolve().parents[2] / "src/exports.def"
LIBRARY = re.compile(r"hakmem[^/]*\.so[^/]*$")  # the library itself; in a plugin there is code of others, too
NO_FILE = "[code without a file]"


@dataclass(frozen=True)
class Frame:
    """A call in a function."""

    address: int  # of the call, or in it
    name: str  # as people read it; "" when nobody knows
    symbol: str  # in the file
    image: str  # the path of the file, "" for code without one
    at: int  # the address as the file counts it
    mapping: Mapping | None

    @property
    def label(self) -> str:
        """The name; where nobody knows it the place in the file."""
        if self.name:
            return self.name
        return f"{printable(self.image.rpartition('/')[2])}+{self.at:#x}" if self.image else NO_FILE

    @property
    def short(self) -> str:
        """The label with the name in short; the place in a file stays as it is, whatever the file is called."""
        return short(self.name) if self.name else self.label


NOWHERE = Frame(0, "[no call path]", "", "", 0, None)  # where all was hakmem's own, or nothing was found
BEYOND = Frame(1, "[callers beyond the 64 that are noted]", "", "", 0, None)


@lru_cache(maxsize=1)
def exported() -> frozenset[str]:
    """The names that hakmem takes over, from the table of them."""
    text = EXPORTS.read_text() if EXPORTS.exists() else ""
    return frozenset(re.findall(r"^EXPORTED(?:_[A-Z]+)?\((\w+)", text, re.M))


class Images:
    """Looks addresses up. Each file is read once, and only when an address lies in it."""

    def __init__(self, pid: int, mappings: Sequence[Mapping], program: str, layout: Layout) -> None:
        self.pid = pid
        self.program = program
        self.code = [mapping for mapping in mappings if "x" in mapping.access]
        self._starts = [mapping.start for mapping in self.code]
        self._symbols: dict[str, Symbols] = {}
        self._frames: dict[int, tuple[Frame, bool]] = {}
        home = next((mapping.name for mapping in mappings if mapping.start <= layout.address < mapping.end), "")
        self._home, self._linked_in = home, not LIBRARY.search(home)

    def stack(self, callers: Sequence[int]) -> tuple[Frame, ...]:
        """The frames of return addresses, innermost first, without those of hakmem at its inner end."""
        found = [self.look_up(address - 1) for address in callers]
        own = next((i for i, (_, ours) in enumerate(found) if not ours), len(found))
        frames = [frame for frame, _ in found[own:]] or [NOWHERE]
        return (*frames, BEYOND) if len(callers) == MOST_CALLERS else tuple(frames)

    def look_up(self, address: int) -> tuple[Frame, bool]:
        """The frame at an address, and whether it is hakmem's own."""
        if address not in self._frames:
            self._frames[address] = self._frame(address)
        return self._frames[address]

    def build_id(self, mapping: Mapping) -> str:
        """Of the file that is mapped there; empty when it has none."""
        return self._symbols_of(mapping).build_id

    def _frame(self, address: int) -> tuple[Frame, bool]:
        place = bisect.bisect_right(self._starts, address) - 1
        if place < 0 or address >= self.code[place].end:
            return Frame(address, "", "", "", address, None), False
        mapping = self.code[place]
        if not mapping.of_file:
            return Frame(address, "", "", "", address, mapping), False
        symbols = self._symbols_of(mapping)
        at = symbols.address(address - mapping.start + mapping.offset)
        symbol, ours = symbols.at(at) or ("", False)
        if mapping.name == self._home:
            ours = ours or not self._linked_in or symbol in exported() or symbol.startswith("hakmem_")
        name = mapping.name.removesuffix(mapped.DELETED)
        return Frame(address, demangled(symbol), symbol, name, at, mapping), ours

    def _symbols_of(self, mapping: Mapping) -> Symbols:
        if mapping.name not in self._symbols:
            self._symbols[mapping.name] = self._read(mapping)
        return self._symbols[mapping.name]

    def _read(self, mapping: Mapping) -> Symbols:
        """The symbols of the file as it was mapped; none when it is not to be had."""
        try:
            with mapped.opened(self.pid, mapping, self.program) as file:
                return Symbols(file)
        except OSError:
            return Symbols()
