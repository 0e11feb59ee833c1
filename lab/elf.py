"""The little that the lab needs to know of an ELF file: is it one, and does it ask for a loader."""

from __future__ import annotations

import struct
from pathlib import Path

PT_INTERP = 3
HEADER_BYTES = 64
SEGMENT_OFFSET, SEGMENT_SIZE = 32, 54  # of the fields e_phoff and e_phentsize in a 64-bit header


def is_elf(path: str | Path) -> bool:
    """Is the file a 64-bit ELF file of this byte order? False for what cannot be read."""
    return _header(path) is not None


def is_static(path: str | Path) -> bool:
    """Is the file a program without a loader, so that LD_PRELOAD cannot reach it? False for scripts."""
    header = _header(path)
    if header is None:
        return False
    (table,) = struct.unpack_from("=Q", header, SEGMENT_OFFSET)
    size, count = struct.unpack_from("=HH", header, SEGMENT_SIZE)
    with open(path, "rb") as file:
        file.seek(table)
        segments = file.read(size * count)
    kinds = [struct.unpack_from("=I", segments, at)[0] for at in range(0, len(segments), size)]
    return PT_INTERP not in kinds


def _header(path: str | Path) -> bytes | None:
    try:
        with open(path, "rb") as file:
            header = file.read(HEADER_BYTES)
    except OSError:
        return None
    return header if len(header) == HEADER_BYTES and header[:5] == b"\x7fELF\x02" else None
