"""Standard output and standard error that are closed, full, or read by nobody: words and a status, never a traceback.

`prepare` is called once, before anything else is opened. Afterwards

- a descriptor that was closed leads nowhere, so that no file that is opened later is taken for it, and standard output
  cannot be written then either;
- output that cannot be written raises OutputError, at the latest in `flush`; without a reader (`| head`) it is NoReader,
  not BrokenPipeError, of which Click and Rich make an end of the process each in its own way;
- words on standard error that cannot be written are dropped: there is nobody to be told of it;
- letters that the encoding of a stream does not have become plain ones, and a byte of a file's name that is no letter at
  all is that byte again.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys

from lab.errors import LabError


PLAINER = "plainer"  # the name of the error handler of both streams
PLAIN = {
    **dict.fromkeys("─━╌═╶╴╺╸", "-"),
    **dict.fromkeys("│┃║", "|"),
    **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╰╯┏┓┗┛┡┩╇", "+"),
    **dict(zip("▁▂▃▄▅▆▇█", "_.-:=+*#", strict=True)),
    **{"\N{NO-BREAK SPACE}": " ", "±": "+-", "µ": "u", "…": "...", "•": "*", "→": "->", "×": "x"},
}
FIRST_BYTE, LAST_BYTE = "\udc80", "\udcff"  # what Python makes of bytes that are no letters (PEP 383)


class OutputError(LabError):
    """Standard output cannot be written."""


class NoReader(Exception):
    """Nobody reads standard output any more. What was measured until then is kept."""


class _Output(io.FileIO):
    def write(self, data) -> int | None:  # type: ignore[no-untyped-def, override]
        try:
            return super().write(data)
        except BrokenPipeError:
            raise NoReader from None
        except OSError as error:
            why = "it is not open for writing" if error.errno == errno.EBADF else error.strerror
            fix = "make room, or send it to a place that can be written"
            raise OutputError(f"cannot write on standard output: {why}", fix) from None


class _Words(io.FileIO):
    def write(self, data) -> int | None:  # type: ignore[no-untyped-def, override]
        try:
            return super().write(data)
        except OSError:
            return len(data)


def prepare() -> None:
    """Mends the standard streams of this process; those that something else stands in for stay as they are."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            access = os.O_RDONLY if number == 1 else os.O_RDWR
            os.set_inheritable(os.open(os.devnull, access), True)  # it gets the lowest that is free: this one
    if sys.stdout is sys.__stdout__:
        sys.stdout = _text(_Output(1, "w", closefd=False), sys.stdout)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _text(_Words(2, "w", closefd=False), sys.stderr)
        sys.stderr.reconfigure(line_buffering=True)


def flush() -> None:
    """Writes what is left of the output. Raises OutputError or NoReader when it cannot."""
    sys.stdout.flush()


def give_up_output() -> None:
    """What is still in the buffer of the output goes nowhere, so that it does not fail again at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _text(raw: io.FileIO, before: io.TextIOWrapper | None) -> io.TextIOWrapper:
    codecs.register_error(PLAINER, _plainer)
    encoding = before.encoding if before else "utf-8"
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, PLAINER, line_buffering=raw.isatty())


def _plainer(error: UnicodeError) -> tuple[str | bytes, int]:
    """What stands for the first letter that cannot be encoded, and where to go on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letter = error.object[error.start]
    if FIRST_BYTE <= letter <= LAST_BYTE:
        return bytes([ord(letter) - 0xDC00]), error.start + 1
    return PLAIN.get(letter, "?"), error.start + 1
