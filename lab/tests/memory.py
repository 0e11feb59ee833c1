"""The memory of a process that is made up: what readers of hakmem_layout are tried on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lab.explain import layout
from lab.explain.layout import Layout
from lab.explain.problems import TornError

HEAD_AT, ROOTS_AT, ADDRESSES_AT, FIELDS_AT = 0x1000, 0x2000, 0x7000, 0x8000
Row = tuple[str, int, int]


class FakeMemory:
    """Bytes at addresses; what is not there is torn. `forgotten` runs when the reader wants to see anew."""

    pid = 7

    def __init__(self) -> None:
        self.pages: dict[int, bytes] = {}
        self.forgotten: Callable[[], None] = lambda: None

    def put(self, address: int, text: bytes) -> None:
        self.pages[address] = text

    def forget(self) -> None:
        self.forgotten()

    def read(self, address: int, count: int) -> bytes:
        for start, text in self.pages.items():
            if start <= address and address + count <= start + len(text):
                return text[address - start :][:count]
        raise TornError(f"{address:#x}")

    def number(self, address: int, count: int = 8) -> int:
        return int.from_bytes(self.read(address, count), "little")

    def describe(self, roots: Sequence[Row], fields: Sequence[Row], variant: str = "standard", without: str = "") -> None:
        """Puts a hakmem_layout there as the library has it; the row `without` is missing."""
        roots, fields = ([row for row in rows if row[0] != without] for rows in (roots, fields))
        self.put(ADDRESSES_AT, b"".join(layout.ADDRESS.pack(at) for _, at, _ in roots))
        self.put(ROOTS_AT, b"".join(layout.FIELD.pack(name.encode(), 0, count) for name, _, count in roots))
        self.put(FIELDS_AT, b"".join(layout.FIELD.pack(name.encode(), at, count) for name, at, count in fields))
        counts = (layout.VERSION, len(roots), len(fields), 0)
        head = (b"hakmem layout", *counts, variant.encode(), b"0.1.0", ADDRESSES_AT, ROOTS_AT, FIELDS_AT)
        self.put(HEAD_AT, layout.HEAD.pack(*head))

    def layout(self) -> Layout:
        """What a reader makes of that."""
        return Layout(self, HEAD_AT)  # type: ignore[arg-type]
