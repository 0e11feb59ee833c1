"""Where the constant hakmem_layout is in a process: the symbol tables of its files, and for a program that was stripped
of them a search for the magic word."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from lab.explain import mapped
from lab.explain.memory import Memory
from lab.explain.problems import TornError
from lab.explain.smaps import Mapping

NAME = b"hakmem_layout\0"
MAGIC = b"hakmem layout".ljust(16, b"\0")
ALIGNMENT, ROOTS_AT = 16, 64  # of struct layout
SYMBOL_TABLES = (2, 11)  # SHT_SYMTAB, SHT_DYNSYM
PT_LOAD = 1
SEARCHED = 1 << 26  # bytes of one mapping, at most
HEAD_BYTES, MOST_OF_A_TABLE = 64, 1 << 28
SECTION, SEGMENT, SYMBOL = struct.Struct("=IIQQQQIIQQ"), struct.Struct("=IIQQQQQQ"), struct.Struct("=IBBHQQ")


def find(memory: Memory, mappings: Sequence[Mapping], program: str) -> int | None:
    """The address of hakmem_layout, None when no file of the process has it."""
    likely, others = _candidates(mappings, program)
    address = _of_files(memory, mappings, likely, program)
    if address is None:
        address = next((found for name in likely for found in _by_search(memory, mappings, name)), None)
    return _of_files(memory, mappings, others, program) if address is None else address


def _candidates(mappings: Sequence[Mapping], program: str) -> tuple[list[str], list[str]]:
    """The files that are likely to have it, the library by its name and then the program itself; and all others with code:
    a plugin may contain the library, or a copy of it have another name."""
    files = dict.fromkeys(mapping.name for mapping in mappings if mapping.of_file and mapping.name.startswith("/"))
    libraries = [name for name in files if "hakmem" in name.rpartition("/")[2]]
    likely = [*libraries, *(name for name in files if name == program and name not in libraries)]
    code = {mapping.name for mapping in mappings if "x" in mapping.access}
    return likely, [name for name in files if name in code and name not in likely]


def _of_files(memory: Memory, mappings: Sequence[Mapping], names: Sequence[str], program: str) -> int | None:
    """By the symbol table of the first file that has it."""
    found = (_by_symbol(memory, mappings, name, program) for name in names)
    return next((address for address in found if address and _is_there(memory, address)), None)


def _is_there(memory: Memory, address: int) -> bool:
    """Is it the constant, with pointers that lead somewhere? A page at the edge of another segment may hold a copy from
    the file, whose pointers the loader has not filled in."""
    try:
        memory.read(memory.number(address + ROOTS_AT), 1)
        return memory.read(address, len(MAGIC)) == MAGIC
    except TornError:
        return False


def _by_symbol(memory: Memory, mappings: Sequence[Mapping], name: str, program: str) -> int | None:
    first = next((mapping for mapping in mappings if mapping.name == name and mapping.offset == 0), None)
    if first is None:
        return None
    try:
        with mapped.opened(memory.pid, first, program) as file:
            value = _symbol_value(file)
            return None if value is None else first.start + value - _lowest_address(file)
    except (OSError, ValueError, LookupError, OverflowError, struct.error):  # not there, or its headers make no sense
        return None


def _symbol_value(file: BinaryIO) -> int | None:
    """st_value of the symbol in a 64-bit ELF file of this byte order."""
    head = _part(file, 0, HEAD_BYTES)
    if head[:5] != b"\x7fELF\x02":
        return None
    (table,), (size, count) = struct.unpack_from("=Q", head, 40), struct.unpack_from("=HH", head, 58)
    text = _part(file, table, size * count)
    sections = [SECTION.unpack_from(text, i * size) for i in range(count)]
    for section in {section[1]: section for section in sections if section[1] in SYMBOL_TABLES}.values():
        names = sections[section[6]]
        strings = _part(file, names[4], names[5])
        if NAME not in strings:
            continue
        for symbol in SYMBOL.iter_unpack(_part(file, section[4], section[5] // SYMBOL.size * SYMBOL.size)):
            if symbol[3] != 0 and strings.startswith(NAME, symbol[0]):
                return int(symbol[4])
    return None


def _lowest_address(file: BinaryIO) -> int:
    head = _part(file, 0, HEAD_BYTES)
    (table,), (size, count) = struct.unpack_from("=Q", head, 32), struct.unpack_from("=HH", head, 54)
    text = _part(file, table, size * count)
    segments = [SEGMENT.unpack_from(text, i * size) for i in range(count)]
    return min(segment[3] - segment[2] for segment in segments if segment[0] == PT_LOAD)


def _part(file: BinaryIO, at: int, count: int) -> bytes:
    """So many bytes, but not more than a table has. Raises ValueError."""
    if count > MOST_OF_A_TABLE:
        raise ValueError(f"a table of {count} bytes")
    file.seek(at)
    return file.read(count)


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
