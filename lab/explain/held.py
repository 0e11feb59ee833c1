"""Runs a program on a library and reports on it while it is held at its exit, on standard error: the output is its own."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Sequence

from lab.errors import LabError, NotWritten
from lab.explain import hold


def run(words: Sequence[str], library: str, reports: Sequence[Callable[[int], None]]) -> int:
    """Gives every report the process id of the held program; what one refuses does not keep the next from speaking.

    Ends as the program ended: returns its exit status. Where a file that was asked for is not written, that is 1 in
    place of 0.
    """
    missing = False

    def report(pid: int) -> None:
        nonlocal missing
        for one in reports:
            try:
                with contextlib.redirect_stdout(sys.stderr):
                    one(pid)
                    sys.stderr.flush()
            except LabError as error:
                print(error.text(), file=sys.stderr, flush=True)
                missing = missing or isinstance(error, NotWritten)

    before = os.environ.get("LD_PRELOAD", "")
    preload = f"{before}:{library}" if before else library
    return hold.end_like(hold.run(words, {**os.environ, "LD_PRELOAD": preload}, report)) or int(missing)
