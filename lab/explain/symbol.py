"""Where the constant hakmem_layout is in a process: the symbol tables of its files, and for a program that was stripped
of them a search for the magic word."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence

from lab.explain.memory import Memory
from lab.explain.problems import TornError
from lab.explain.smaps import Mapping

NAME = b"hakmem_layout"
MAGIC = b"hakmem layout".ljust(16, b"\0")
ALIGNMENT, ROOTS_AT = 16, 64  # of struct layout
SYMBOL_TABLES = (2, 11)  # SHT_SYMTAB, SHT_DYNSYM
PT_LOAD = 1
SEARCHED = 1 << 26  # bytes of one mapping, at most
SECTION, SEGMENT, SYMBOL = struct.Struct("=IIQQQQIIQQ"), struct.Struct("=IIQQQQQQ"), struct.Struct("=IBBHQQ")


def find(memory: Memory, mappings: Sequence[Mapping], program: str) -> int | None:
    """The address of hakmem_layout, None when no file of the process has it."""
    names = _candidates(mappings, program)
    for name in names:
        address = _by_symbol(memory, mappings, name)
        if address and _is_there(memory, address):
            return address
    return next((found for name in names for found in _by_search(memory, mappings, name)), None)


def _candidates(mappings: Sequence[Mapping], program: str) -> list[str]:
    """Files that may have it, the likely ones first: the library by its name, then the program itself."""
    files = dict.fromkeys(mapping.name for mapping in mappings if mapping.of_file and mapping.name.startswith("/"))
    libraries = [name for name in files if "hakmem" in name.rpartition("/")[2]]
    return [*libraries, *(name for name in files if name == program and name not in libraries)]


def _is_there(memory: Memory, address: int) -> bool:
    """Is it the constant, with pointers that lead somewhere? A page at the edge of another segment may hold a copy from
    the file, whose pointers the loader has not filled in."""
    try:
        memory.read(memory.number(address + ROOTS_AT), 1)
        return memory.read(address, len(MAGIC)) == MAGIC
    except TornError:
        return False


def _by_symbol(memory: Memory, mappings: Sequence[Mapping], name: str) -> int | None:
    base = next((mapping.start for mapping in mappings if mapping.name == name and mapping.offset == 0), None)
    try:
        with open(f"/proc/{memory.pid}/root{name}", "rb") as file:
            text = file.read()
        value, lowest = _symbol_value(text), _lowest_address(text)
    except (OSError, struct.error):
        return None
    return None if base is None or value is None else base + value - lowest


def _symbol_value(text: bytes) -> int | None:
    """st_value of the symbol in a 64-bit ELF file of this byte order."""
    if text[:5] != b"\x7fELF\x02":
        return None
    (table,), (size, count) = struct.unpack_from("=Q", text, 40), struct.unpack_from("=HH", text, 58)
    sections = [SECTION.unpack_from(text, table + i * size) for i in range(count)]
    for section in sections:
        if section[1] not in SYMBOL_TABLES:
            continue
        at, length, names = section[4], section[5], sections[section[6]]
        strings = text[names[4] : names[4] + names[5]]
        places = {found.start() for found in re.finditer(NAME + b"\0", strings)}
        for symbol in SYMBOL.iter_unpack(text[at : at + length // SYMBOL.size * SYMBOL.size]):
            if symbol[0] in places and symbol[3] != 0:
                return int(symbol[4])
    return None


def _lowest_address(text: bytes) -> int:
    (table,), (size, count) = struct.unpack_from("=Q", text, 32), struct.unpack_from("=HH", text, 54)
    segments = [SEGMENT.unpack_from(text, table + i * size) for i in range(count)]
    return min(segment[3] - segment[2] for segment in segments if segment[0] == PT_LOAD)


def _by_search(memory: Memory, mappings: Sequence[Mapping], name: str) -> Iterator[int]:
    for mapping in mappings:
        if mapping.name.removesuffix(" (deleted)") != name.removesuffix(" (deleted)") or mapping.access[0] != "r":
            continue
        if "x" in mapping.access or mapping.end - mapping.start > SEARCHED:
            continue
        try:
            text = memory.read(mapping.start, mapping.end - mapping.start)
        except TornError:
            continue
        at = text.find(MAGIC)
        while at >= 0:
            if at % ALIGNMENT == 0 and _is_there(memory, mapping.start + at):
                yield mapping.start + at
            at = text.find(MAGIC, at + 1)
