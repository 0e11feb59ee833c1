"""Whether the core was shared: what another hardware thread on it does to a comparison.

Two hardware threads share a core's units. On a virtual machine the other one may be somebody else's, busy for seconds and then
idle, and nothing tells: neither steal time nor load. It does not only slow a program down. What waits for memory or for
itself loses little, what keeps the units busy loses a third, so that of two libraries the one may be ahead while the core is shared
and the other while it is not (docs/experiments/newest-beside-the-top.md). One interval over both then says little.

Around every pinned run lab/native/child.c times a loop that keeps the units busy against one that waits for itself. Their quotient
does not depend on the clock. On a core to itself it is nearly a constant; on a shared one it is anything above, since the other thread comes and
goes. This module finds that constant, if there is one, and gives an interval for the runs below and above (lab/levels.py).

- The constant is taken for one if the quotients crowd there: CROWDED times as many lie within PEAK above the lowest ones as in the next band of that
  width. Where the core is shared all the time they do not, and nothing is said.
- A run counts as alone if the quotient was the constant before and after it, as shared if it was SHARED_FROM times as high both times, else
  as neither.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lab import levels
from lab.pairs import Comparison

LOWEST = 1  # per cent of the quotients are left out below
PEAK = 1.03
CROWDED = 3
SHARED_FROM = 1.15
FEWEST_QUOTIENTS = 20
KIND = levels.Kind(
    key="sharing",
    low="alone",
    high="shared",
    words="another hardware thread had part of the core",
    low_place="the core to itself",
    high_place="the core shared",
    depends="who shares the core",
)


def constant(quotients: Sequence[float]) -> float | None:
    """The quotient of a core to itself, at most PEAK times as high as this; None when it is not seen."""
    values = np.asarray(quotients, dtype=float)
    if values.size < FEWEST_QUOTIENTS:
        return None
    lowest = float(np.percentile(values, LOWEST))
    peak = np.count_nonzero(values <= lowest * PEAK)
    beside = np.count_nonzero((values > lowest * PEAK) & (values <= lowest * PEAK**2))
    return lowest if peak > CROWDED * beside else None


def seen(comparison: Comparison) -> tuple[float, float] | None:
    """The constant, and at which share of the runs' ends the core was not to itself; None when it was never shared, or always."""
    quotients = levels.figures(comparison, KIND)
    lowest = constant(quotients)
    if lowest is None or max(quotients) <= lowest * SHARED_FROM:
        return None
    return lowest, sum(value > lowest * PEAK for value in quotients) / len(quotients)


def of(comparison: Comparison, candidate: str, reference: str) -> levels.Levels | None:
    """What is known of the two levels; None when there were not two."""
    found = seen(comparison)
    if not found:
        return None
    lowest, share = found
    return levels.split(comparison, KIND, share, (candidate, reference), lowest * PEAK, lowest * SHARED_FROM)
