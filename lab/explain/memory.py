"""Bytes of another process, a kernel page at a time, each read once."""

from __future__ import annotations

import errno
import mmap
import os
from types import TracebackType

from lab.explain import process
from lab.explain.problems import TornError, no_process, not_permitted

PAGE = mmap.PAGESIZE


class Memory:
    """/proc/PID/mem, read only. A page that was read is kept, so that one walk sees one state of it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._pages: dict[int, bytes] = {}
        try:
            self._file = os.open(f"{process.directory(pid)}/mem", os.O_RDONLY | os.O_CLOEXEC)
        except PermissionError:
            raise not_permitted(pid) from None
        except OSError:
            raise no_process(pid) from None

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._file)

    def forget(self) -> None:
        """The next read sees the process as it is then."""
        self._pages.clear()

    def read(self, address: int, count: int) -> bytes:
        """`count` bytes from `address`; TornError when they are not mapped."""
        if address <= 0 or count < 0 or address + count > 1 << 56:
            raise TornError(f"no address: {address:#x}")
        first, last = address // PAGE, (address + count - 1) // PAGE
        missing = [page for page in range(first, last + 1) if page not in self._pages]
        if missing:
            self._fetch(missing[0], missing[-1] + 1 - missing[0])
        text = b"".join(self._pages[page] for page in range(first, last + 1))
        return text[address - first * PAGE :][:count]

    def number(self, address: int, count: int = 8) -> int:
        """An unsigned number of `count` bytes."""
        return int.from_bytes(self.read(address, count), "little")

    def text(self, address: int, count: int) -> str:
        """A C string in a place of `count` bytes."""
        return self.read(address, count).split(b"\0")[0].decode("ascii", "replace")

    def _fetch(self, page: int, count: int) -> None:
        try:
            text = os.pread(self._file, count * PAGE, page * PAGE)
        except OSError as error:
            if error.errno in (errno.EPERM, errno.EACCES):
                raise not_permitted(self.pid) from None
            raise TornError(f"cannot be read: {page * PAGE:#x}") from None
        if len(text) < count * PAGE:
            if not text and not os.path.exists(f"/proc/{self.pid}/maps"):
                raise no_process(self.pid)
            raise TornError(f"ends early: {page * PAGE:#x}")
        for i in range(count):
            self._pages[page + i] = text[i * PAGE : (i + 1) * PAGE]
