"""What the lab says when it cannot go on.

Every error that a person can meet is a LabError: a message that names the thing, and a fix that says what to do next.
The command line prints both on standard error, as `hakmem: message` and `  fix`, and exits with `status`:
1 when it cannot be done here, 2 when it was asked for wrongly. Anything else that is raised is a defect of the lab
and is shown with its traceback.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence

OF_THE_PLACE = {errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT}


class LabError(Exception):
    """Cannot go on: `message` says what is wrong, `fix` what to do about it (may be empty)."""

    status = 1

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix

    def text(self) -> str:
        """What is printed, without the last newline."""
        return f"hakmem: {self.message}" + (f"\n  {self.fix}" if self.fix else "")


class AskedWrongly(LabError):
    """The command line names something that does not exist or does not fit: exit status 2."""

    status = 2


class NotWritten(LabError):
    """A file that was asked for cannot be written."""


class SeveralNotWritten(NotWritten):
    """The same of more than one file; each is named."""

    def __init__(self, errors: Sequence[LabError]) -> None:
        super().__init__("; ".join(error.message for error in errors))
        self.errors = errors

    def text(self) -> str:
        """Each with its own fix."""
        return "\n".join(error.text() for error in self.errors)


class CrashError(LabError):
    """A measured program ended badly; `last_words` is the end of its standard error."""

    def __init__(self, message: str, last_words: str = "", fix: str = "") -> None:
        words = last_words.strip()
        super().__init__(f"{message}; its last words: {words}" if words else message, fix)
        self.last_words = words


class WitnessError(LabError):
    """The library that was to be measured does not own malloc and free in the measured process."""


def of_the_place(error: OSError) -> LabError | None:
    """The error in words when a place cannot be written, or is full: no defect of the lab. None when it is another."""
    if error.errno not in OF_THE_PLACE:
        return None
    name = error.filename if isinstance(error.filename, str) else "a file"
    return LabError(f"cannot write {name}: {error.strerror}", "make it writable, and room for it; or clone elsewhere")
