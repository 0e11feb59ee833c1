"""The files that are written: whether they can be, before anything is done, and their names."""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from lab.errors import AskedWrongly, LabError, NotWritten

PICTURES = (".svg", ".png", ".pdf")
A_BLOCK = 4096


def check(option: str, path: str) -> None:
    """Raises LabError when the file of an option cannot be written, or there is no room.

    Leaves nothing behind: there may be nothing to write. It is tried, for permissions do not say all: nothing can be
    made in /proc, nor where the disk is full.
    """
    if not path:
        return
    if path == "-":
        raise AskedWrongly(f"{option} - is no file: only --json writes on standard output", "name a file; one called - is ./-")
    target = _real(path)
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


def _real(path: str) -> str:
    """The file itself that a path leads to. Raises NotWritten where that begins at a directory that was removed."""
    try:
        return os.path.realpath(path)
    except FileNotFoundError:
        raise NotWritten(f"cannot write {path}: the current directory is gone", "change to one that exists") from None


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


def check_all(asked: Sequence[tuple[str, str]]) -> None:
    """The files of several options, (option, path): each can be written, and no two are the same. Raises LabError."""
    for option, path in asked:
        check(option, path)
    check_apart(asked)


def check_apart(asked: Sequence[tuple[str, str]]) -> None:
    """No two of several options, (option, path), name the same file. Raises AskedWrongly."""
    taken: dict[str, str] = {}
    for option, path in asked:
        if not path:
            continue
        target = _real(path)
        if os.path.lexists(target) and not os.path.isfile(target):  # /dev/null, or a pipe
            continue
        if target in taken:
            raise AskedWrongly(f"{taken[target]} and {option} name the same file, {path}", "give each a file of its own")
        taken[target] = option


def check_picture(path: str) -> None:
    """Raises AskedWrongly when the name of --plot says of no kind of picture that it is one."""
    if path and Path(path).suffix not in PICTURES:
        raise AskedWrongly(f"--plot {path} is no picture", f"let its name end in one of {', '.join(PICTURES)}")


def write(option: str, path: str, content: bytes) -> None:
    """The whole file, or nothing of it. Raises NotWritten when it cannot be done; what was there before stays then."""
    _real(path)
    try:
        put(path, content)
    except OSError as error:
        raise refused(option, path, error.strerror or "") from None


def put(path: str | Path, content: bytes) -> None:
    """As `write`, but raises OSError. Only what is no regular file, as a pipe or /dev/full, may get a part of it."""
    there = _status(path)
    if there and (not stat.S_ISREG(there.st_mode) or _is_ours(there)):
        Path(path).write_bytes(content)
        return
    try:
        _replace(os.path.realpath(path), there, content)
    except PermissionError:
        if not there:
            raise
        Path(path).write_bytes(content)  # it may be written where no file may be made, or put in its place


def _replace(target: str, there: os.stat_result | None, content: bytes) -> None:
    """Makes the file beside it first; `there`: whose owner and mode it gets."""
    unfinished, file = _beside(target)
    try:
        with open(file, "wb") as out:
            if there:
                with contextlib.suppress(PermissionError):
                    os.chown(file, there.st_uid, there.st_gid)
                os.chmod(file, stat.S_IMODE(there.st_mode))
            out.write(content)
        os.replace(unfinished, target)
    except BaseException:
        os.unlink(unfinished)
        raise


def _status(path: str | Path) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _is_ours(there: os.stat_result) -> bool:
    """Is it where our standard streams go? Another file in its place would not be."""
    return any(os.path.samestat(there, os.fstat(number)) for number in range(3))


def _beside(target: str) -> tuple[str, int]:
    """A new file in the same directory, open for writing: its name and descriptor."""
    for number in itertools.count(1):
        name = os.path.join(os.path.dirname(target), f".hakmem-{os.getpid()}-{number}")
        with contextlib.suppress(FileExistsError):
            return name, os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    raise AssertionError


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
    return NotWritten(f"cannot write {path}: {why}", f"give {option} a file that can be written{other}")
