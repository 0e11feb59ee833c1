"""Allocators take turns: a round is one epoch of each, in a random order.

What slows the machine for longer than a round slows all of them alike, so that drift of the machine is not taken for
drift of an allocator (lab/steadiness.py, relative_drift). An allocator that crashes leaves; the others go on.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping

from lab import csvs
from lab.errors import CrashError
from lab.soak.sources import Source


def rounds(
    sources: Mapping[str, Source],
    duration_s: float,
    seed: int = 0,
    clock: Callable[[], float] = time.monotonic,
    most: int | None = None,
) -> Iterator[tuple[str, csvs.Row | CrashError]]:
    """Each epoch as soon as it is known, with its allocator's name; the error in place of an epoch that crashed.

    Ends after the first round that ends after `duration_s` seconds, after `most` rounds, or when nobody is left. Close
    it (contextlib.closing) when leaving early: that ends the processes.
    """
    order, left, began, done = random.Random(seed), dict(sources), clock(), 0
    try:
        while left and done != most:
            for name in order.sample(list(left), len(left)):
                row: csvs.Row | CrashError
                try:
                    row = left[name].next()
                except CrashError as error:
                    left.pop(name).end()
                    row = error
                ended = clock()  # what is done with the row takes none of the time
                yield name, row
            done += 1
            if ended - began >= duration_s:
                return
    finally:
        for source in sources.values():
            source.end()
