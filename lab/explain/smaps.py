"""What the kernel says of each mapping of a process: /proc/PID/smaps and smaps_rollup."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from lab.explain import process
from lab.explain.problems import no_process, not_permitted

HEAD = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) (\S{4}) ([0-9a-f]+) \S+ (\d+) *(.*)$")
KIB = 1024


@dataclass
class Mapping:
    """One line of /proc/PID/maps, and of its figures those that are needed here, in bytes."""

    start: int
    end: int
    access: str
    offset: int
    inode: int
    name: str
    rss: int = 0
    huge: int = 0

    @property
    def of_file(self) -> bool:
        """Does it show a file? Shared memory counts as one."""
        return self.inode != 0


def parse(text: str) -> list[Mapping]:
    """The mappings of a text like smaps, or like maps (without figures), lowest first."""
    mappings: list[Mapping] = []
    for line in text.splitlines():
        head = HEAD.match(line)
        if head:
            start, end, access, offset, inode, name = head.groups()
            mappings.append(Mapping(int(start, 16), int(end, 16), access, int(offset, 16), int(inode), name))
        elif line.startswith("Rss:"):
            mappings[-1].rss = int(line.split()[1]) * KIB
        elif line.startswith("AnonHugePages:"):
            mappings[-1].huge = int(line.split()[1]) * KIB
    return mappings


def read(pid: int) -> list[Mapping]:
    """The mappings of a process, with their figures."""
    return parse(_text(pid, "smaps"))


def places(pid: int) -> list[Mapping]:
    """The mappings without figures, for which the kernel need not look at pages."""
    return parse(_text(pid, "maps"))


def rss(pid: int) -> int:
    """Resident bytes of the whole process, counted page by page by the kernel."""
    return int(re.search(r"^Rss: +(\d+)", _text(pid, "smaps_rollup"), re.M)[1]) * KIB  # type: ignore[index]


def _text(pid: int, name: str) -> str:
    try:
        text = Path(f"{process.directory(pid)}/{name}").read_text(errors="replace")
    except PermissionError:
        raise not_permitted(pid) from None
    except OSError:
        raise no_process(pid) from None
    if not text:  # a process that has ended and was not waited for
        raise no_process(pid)
    return text
