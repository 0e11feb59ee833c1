"""From the number of a bucket to ticks: src/calls.h has the picture.

The first buckets hold one tick each, then an octave has `steps` of them, so that none is wider than 1/steps of where it
begins. The last one holds all that is longer; it counts as no longer than where it begins.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def begins(exact: int, steps: int, count: int) -> NDArray[np.uint64]:
    """The fewest ticks in each of `count` buckets, of which `exact` hold one tick; exact = 2 * steps."""
    numbers = np.arange(count, dtype=np.uint64)
    octave, step = np.divmod(np.maximum(numbers, exact) - np.uint64(exact), np.uint64(steps))
    return np.where(numbers < exact, numbers, (np.uint64(steps) + step) << (octave + np.uint64(1)))


def middles(exact: int, steps: int, count: int) -> NDArray[np.float64]:
    """What stands for a bucket: the middle between its fewest and its most ticks."""
    first = begins(exact, steps, count)
    last = np.append(first[1:] - np.uint64(1), first[-1])
    return (first.astype(np.float64) + last.astype(np.float64)) / 2
