"""The files that are written: whether they can be, before anything is done, and their names."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

from lab.errors import AskedWrongly, LabError

PICTURES = (".svg", ".png", ".pdf")


def check(option: str, path: str) -> None:
    """Raises LabError when the file of an option cannot be written. Makes none: there may be nothing to write."""
    if not path:
        return
    directory = os.path.dirname(path) or "."
    if os.path.isdir(path):
        raise _refused(option, path, "it is a directory")
    if not os.path.isdir(directory):
        raise _refused(option, path, "there is no such directory")
    if not os.access(path if os.path.lexists(path) else directory, os.W_OK):
        raise _refused(option, path, "permission denied")


def check_picture(path: str) -> None:
    """Raises AskedWrongly when the name of --plot says of no kind of picture that it is one."""
    if path and Path(path).suffix not in PICTURES:
        raise AskedWrongly(f"--plot {path} is no picture", f"let its name end in one of {', '.join(PICTURES)}")


def write(option: str, path: str, content: bytes) -> None:
    """Raises LabError when it cannot be done."""
    try:
        Path(path).write_bytes(content)
    except OSError as error:
        raise _refused(option, path, error.strerror or "") from None


def unused(name: str, ending: str) -> str:
    """A name here that no file has, with a number where it takes one: two profiles of a process can be compared."""
    names = itertools.chain([name + ending], (f"{name}.{number}{ending}" for number in itertools.count(2)))
    return next(one for one in names if not os.path.lexists(one))


def _refused(option: str, path: str, why: str) -> LabError:
    return LabError(f"cannot write {path}: {why}", f"give {option} a file that can be written")
