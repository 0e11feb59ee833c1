"""Two levels that a machine goes back and forth between, and what a comparison is on each of them.

What a program gets of a virtual machine's cores may change for seconds to minutes, without a sign in load or steal time. Around every run
lab/native/child.c measures a figure that tells on which level the machine is: lab/sharing.py has one of runs on one core, lab/distance.py one of runs on several.
A run belongs to a level if the figure was there before and after it. The unit is half a block, in which each side ran once: if all of its runs
are of one level it gives a ratio, of neighbours, as a block does. The figure is measured outside of the runs, by a program that is neither side's: choosing
runs by it favours none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lab import statistics
from lab.pairs import Comparison, Run, speed
from lab.spoken import counted

FEWEST_PAIRS = statistics.MINIMUM_BLOCKS


@dataclass(frozen=True)
class Kind:
    """A figure, and what its two levels are called. `key` is its name in a run's record, `high` and `low` those of the levels; `words` say how much
    of the time it was high, the `places` what was measured low and high, `depends` that it makes a difference."""

    key: str
    low: str
    high: str
    words: str
    low_place: str
    high_place: str
    depends: str

    def ends(self, run: Run) -> tuple[float, ...]:
        """The figure before and after a run; fewer where it is not known."""
        return tuple(value for value in run.sample.extra.get(self.key, ()) if value > 0)

    def said(self, share: float) -> str:
        """In a sentence."""
        return f"{self.words} {100 * share:.0f} % of the time"


@dataclass(frozen=True)
class Levels:
    """What was seen. `share` is that of the runs' ends at which the figure was high; the intervals are those of either level, or
    None both, where one of them was seen too seldom."""

    kind: Kind
    share: float
    low: statistics.Interval | None = None
    high: statistics.Interval | None = None

    @property
    def matters(self) -> bool:
        """True when the intervals do not meet: which side is faster, or by how much, depends on the level."""
        if not self.low or not self.high:
            return False
        return self.low.low > self.high.high or self.high.low > self.low.high

    def rows(self) -> list[tuple[str, statistics.Interval]]:
        """What it was measured on, and the interval; none where nothing is known."""
        if not self.low or not self.high:
            return []
        return [(self.kind.low_place, self.low), (self.kind.high_place, self.high)]

    def lines(self) -> list[str]:
        """What is said of it, for people."""
        first = f"  {self.kind.said(self.share)}"
        if not self.low or not self.high:
            return [f"{first}; too few pairs of runs to tell what that changes: a larger --budget would"]
        text = [f"{first}: {self.high}, {counted(self.high.n, 'pair')} of runs", f"  {self.kind.low_place:<45}: {self.low}, {self.low.n}"]
        return text + [f"  so the answer depends on {self.kind.depends} (docs/lab.md)"] * self.matters

    def json(self) -> dict[str, Any]:
        """For the record."""
        intervals = {self.kind.low: self.low, self.kind.high: self.high}
        return {"share": self.share} | {name: found.json() if found else None for name, found in intervals.items()}


def figures(comparison: Comparison, kind: Kind) -> list[float]:
    """Of all complete blocks' runs, before and after each."""
    return [value for block in comparison.blocks for run in block for value in kind.ends(run)]


def split(
    comparison: Comparison, kind: Kind, share: float, sides: tuple[str, str], low_to: float, high_from: float
) -> Levels:
    """The intervals of the halves of blocks whose figures are all at most `low_to`, and all above `high_from`. `sides`: the candidate, the reference."""
    low, high = [], []
    for half in _halves(comparison):
        ends = [value for run in half for value in kind.ends(run)]
        if len(ends) < 2 * len(half):
            continue
        if max(ends) <= low_to:
            low.append(_ratio(comparison, half, *sides))
        elif min(ends) > high_from:
            high.append(_ratio(comparison, half, *sides))
    if min(len(low), len(high)) < FEWEST_PAIRS:
        return Levels(kind, share)
    return Levels(kind, share, statistics.ratio_interval(low), statistics.ratio_interval(high))


def _halves(comparison: Comparison) -> list[list[Run]]:
    """Of each block the first run of every side, and the second."""
    sides = len(comparison.allocators)
    return [half for block in comparison.blocks for half in (block[:sides], block[sides:])]


def _ratio(comparison: Comparison, half: Sequence[Run], candidate: str, reference: str) -> float:
    speeds = {run.name: speed(run.sample, comparison.workload, comparison.metric) for run in half}
    return speeds[candidate] / speeds[reference]
