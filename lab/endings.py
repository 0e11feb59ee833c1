"""SIGTERM, and the SIGHUP of a terminal that is closed, taken for a Ctrl-C: what was measured is kept."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

ENDINGS = (signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def endings() -> Iterator[list[int]]:
    """Both are a Ctrl-C meanwhile, unless they are ignored (nohup); says which of them came."""
    came: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        came.append(number)
        raise KeyboardInterrupt

    taken = [number for number in ENDINGS if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, interrupt)
    try:
        yield came
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
