"""The files that are written: whether they can be, before anything is done, and their names."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

from lab.errors import AskedWrongly, LabError

PICTURES = (".svg", ".png", ".pdf")
A_BLOCK = 4096


def check(option: str, path: str) -> None:
    """Raises LabError when the file of an option cannot be written, or there is no room.

    Leaves nothing behind: there may be nothing to write. It is tried, for permissions do not say all: nothing can be
    made in /proc, nor where the disk is full.
    """
    if not path:
        return
    target = os.path.realpath(path)
    if os.path.isdir(target):
        raise refused(option, path, "it is a directory")
    if not os.path.isdir(os.path.dirname(target)):
        raise refused(option, path, "there is no such directory")
    try:
        _try(target)
    except FileNotFoundError:
        raise refused(option, path, "no file can be made there") from None
    except OSError as error:
        raise refused(option, path, error.strerror or "") from None


def _try(path: str) -> None:
    """Raises OSError when it cannot be written."""
    if os.path.isfile(path):
        os.close(os.open(path, os.O_WRONLY | os.O_APPEND))
    elif not os.path.lexists(path):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            os.write(file, bytes(A_BLOCK))
        finally:
            os.close(file)
            os.unlink(path)
    elif not os.access(path, os.W_OK):  # a reader at the other end of a pipe would take opening and closing for the end
        raise PermissionError(None, "permission denied")


def check_picture(path: str) -> None:
    """Raises AskedWrongly when the name of --plot says of no kind of picture that it is one."""
    if path and Path(path).suffix not in PICTURES:
        raise AskedWrongly(f"--plot {path} is no picture", f"let its name end in one of {', '.join(PICTURES)}")


def write(option: str, path: str, content: bytes) -> None:
    """Raises LabError when it cannot be done."""
    try:
        Path(path).write_bytes(content)
    except OSError as error:
        raise refused(option, path, error.strerror or "") from None


def unused(name: str, ending: str) -> str:
    """A name here that no file has, with a number where it takes one: two profiles of a process can be compared."""
    names = itertools.chain([name + ending], (f"{name}.{number}{ending}" for number in itertools.count(2)))
    return next(one for one in names if not os.path.lexists(one))


def fresh(path: Path) -> Path:
    """Makes a directory of this name that nobody else has, with -2, -3 ... where it is taken. Raises OSError."""
    for number in itertools.count(1):
        one = path if number == 1 else path.with_name(f"{path.name}-{number}")
        try:
            one.mkdir(parents=True)
            return one
        except FileExistsError:
            continue
    raise AssertionError


def refused(option: str, path: str, why: str) -> LabError:
    """The file of an option that cannot be written."""
    other = ", or - for standard output" if option == "--json" else ""
    return LabError(f"cannot write {path}: {why}", f"give {option} a file that can be written{other}")
