"""The files that another process has mapped, to be read as they were mapped.

Whose process it is chooses what its names lead to, and may choose so that it harms who looks. So nothing is opened but a
regular file, not even to see what it is: a pipe would not return, and some devices act when they are opened. The length is
bounded, for a file that is all holes costs its owner nothing; files of the kernel (/proc/kmsg) have none.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO

from lab.explain import process
from lab.explain.smaps import Mapping

DELETED = " (deleted)"
MOST_BYTES = 1 << 30


def opened(pid: int, mapping: Mapping, program: str) -> BinaryIO:
    """The file of a mapping in a process that runs `program`. Raises OSError when it is not to be had."""
    there = process.directory(pid)
    paths = [f"{there}/map_files/{mapping.start:x}-{mapping.end:x}"]
    if mapping.name == program:
        paths.append(f"{there}/exe")
    if not mapping.name.endswith(DELETED):  # what has its name now is another file
        paths.append(f"{there}/root{mapping.name}")
    for path in paths[:-1]:
        try:
            return regular(path)
        except OSError:
            continue
    return regular(paths[-1])


def regular(path: str) -> BinaryIO:
    """Opens a regular file of a length that can be one. Raises OSError when it is something else."""
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        found = os.fstat(place)
        if not stat.S_ISREG(found.st_mode) or not 0 < found.st_size < MOST_BYTES:
            raise OSError(errno.EINVAL, "no regular file, or none of such a length", path)
        return os.fdopen(os.open(f"/proc/self/fd/{place}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    finally:
        os.close(place)
