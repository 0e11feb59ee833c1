"""From samples to what they stand for.

Samples are taken at the points of a Poisson process along the allocated bytes, `rate` bytes apart on average. A block of
s bytes is hit with probability p = 1 - exp(-s / rate), so each that was hit stands for 1 / p blocks. The variance of
such a sum is estimated by the sum of (1 - p) / p^2 times the squared bytes: for blocks much smaller than the rate the
relative standard error is 1 / sqrt(samples), and nothing where every block is sampled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


def probability(bytes_each: float, rate: int) -> float:
    """That a block of so many bytes is sampled. At a rate of 1 all are; a block of no bytes counts as one of 1."""
    return 1.0 if rate <= 1 else -math.expm1(-max(bytes_each, 1.0) / rate)


@dataclass(frozen=True)
class Estimate:
    """Blocks and bytes that samples stand for."""

    samples: int = 0
    blocks: float = 0.0
    bytes: float = 0.0
    variance: float = 0.0  # of the bytes

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(
            self.samples + other.samples,
            self.blocks + other.blocks,
            self.bytes + other.bytes,
            self.variance + other.variance,
        )

    @property
    def error(self) -> float:
        """The relative standard error of the bytes."""
        return math.sqrt(self.variance) / self.bytes if self.bytes else 0.0


def of_samples(count: int, bytes_: int, rate: int) -> Estimate:
    """What `count` samples of `bytes_` bytes together stand for, all of about the same size."""
    if count == 0:
        return Estimate()
    each = bytes_ / count
    share = probability(each, rate)
    return Estimate(count, count / share, bytes_ / share, count * (1 - share) * (each / share) ** 2)
