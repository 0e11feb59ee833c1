"""Whether the core was shared: what another hardware thread on it does to a comparison.

Two hardware threads share a core's units. On a virtual machine the other one may be somebody else's, busy for seconds and then
idle, and nothing tells: neither steal time nor load. It does not only slow a program down. What waits for memory or for
itself loses little, what keeps the units busy loses a third, so that of two libraries the one may be ahead while the core is shared
and the other while it is not (docs/experiments/newest-beside-the-top.md). One interval over both then says little.

Around every pinned run lab/native/child.c times a loop that keeps the units busy against one that waits for itself. Their quotient
does not depend on the clock. On a core to itself it is nearly a constant; on a shared one it is anything above, since the other thread comes and
goes. This module finds that constant, if there is one, and gives an interval for the runs below and above.

- The constant is taken for one if the quotients crowd there: CROWDED times as many lie within PEAK above the lowest ones as in the next band of that
  width. Where the core is shared all the time they do not, and nothing is said.
- A run counts as alone if the quotient was the constant before and after it, as shared if it was SHARED_FROM times as high both times, else
  as neither. The unit is half a block, in which each side ran once: if all of its runs are of one kind it gives a ratio, of neighbours, as a block does.
- The quotient is measured outside of the runs, by a program that is neither side's: choosing runs by it favours none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lab import statistics
from lab.pairs import Comparison, Run, speed

LOWEST = 1  # per cent of the quotients are left out below
PEAK = 1.03
CROWDED = 3
SHARED_FROM = 1.15
FEWEST_QUOTIENTS = 20
FEWEST_PAIRS = statistics.MINIMUM_BLOCKS


@dataclass(frozen=True)
class Sharing:
    """A core that was shared at times. `share` is that of the runs' ends at which it was; the intervals are those of a core to itself,
    and of a shared one, or None both, where one of them was seen too seldom."""

    share: float
    alone: statistics.Interval | None = None
    shared: statistics.Interval | None = None

    @property
    def matters(self) -> bool:
        """True when the intervals do not meet: which side is faster, or by how much, depends on who shares the core."""
        if not self.alone or not self.shared:
            return False
        return self.alone.low > self.shared.high or self.shared.low > self.alone.high


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
    quotients = [value for block in comparison.blocks for run in block for value in _ends(run)]
    lowest = constant(quotients)
    if lowest is None or max(quotients) <= lowest * SHARED_FROM:
        return None
    return lowest, sum(value > lowest * PEAK for value in quotients) / len(quotients)


def of(comparison: Comparison, candidate: str, reference: str) -> Sharing | None:
    """What is known of the two levels; None when there were not two."""
    found = seen(comparison)
    if not found:
        return None
    lowest, share = found
    alone, shared = [], []
    for half in _halves(comparison):
        ends = [value for run in half for value in _ends(run)]
        if len(ends) < 2 * len(half):
            continue
        if max(ends) <= lowest * PEAK:
            alone.append(_ratio(comparison, half, candidate, reference))
        elif min(ends) > lowest * SHARED_FROM:
            shared.append(_ratio(comparison, half, candidate, reference))
    if min(len(alone), len(shared)) < FEWEST_PAIRS:
        return Sharing(share)
    return Sharing(share, statistics.ratio_interval(alone), statistics.ratio_interval(shared))


def rows(found: Sharing | None) -> list[tuple[str, statistics.Interval]]:
    """What it was measured on, and the interval; none where nothing is known."""
    if not found or not found.alone or not found.shared:
        return []
    return [("the core to itself", found.alone), ("the core shared", found.shared)]


def words(share: float) -> str:
    """In a sentence."""
    return f"another hardware thread had part of the core {100 * share:.0f} % of the time"


def lines(found: Sharing) -> list[str]:
    """What is said of it, for people."""
    first = f"  {words(found.share)}"
    if not found.alone or not found.shared:
        return [f"{first}; too few pairs of runs to tell what that changes: a larger --budget would"]
    text = [
        f"{first}: {found.shared}, {found.shared.n} pairs of runs",
        f"  {'the core to itself':<45}: {found.alone}, {found.alone.n}",
    ]
    return text + ["  so the answer depends on who shares the core (docs/lab.md)"] * found.matters


def _ends(run: Run) -> tuple[float, ...]:
    return tuple(value for value in run.sample.extra.get("sharing", ()) if value > 0)


def _halves(comparison: Comparison) -> list[list[Run]]:
    """Of each block the first run of every side, and the second."""
    sides = len(comparison.allocators)
    return [half for block in comparison.blocks for half in (block[:sides], block[sides:])]


def _ratio(comparison: Comparison, half: Sequence[Run], candidate: str, reference: str) -> float:
    speeds = {run.name: speed(run.sample, comparison.workload, comparison.metric) for run in half}
    return speeds[candidate] / speeds[reference]
