"""An experiment: a candidate against a reference on one or several workloads, and what came of it.

`outcome` turns a comparison into the contract's verdict; nothing here measures or prints.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lab import distance, levels, sharing, statistics
from lab.model import Allocator, Machine
from lab.pairs import Comparison
from lab.progress import spoken_time
from lab.spoken import counted, signed

KINDS = (sharing, distance)  # what may tell that the machine has two levels
LEVELS = {"run": statistics.BAND_RUN_TIME, "build": statistics.BAND_BUILD}


@dataclass
class Outcome:
    """One candidate on one workload: its interval against the reference, the verdict and one line of reason; and what it is on either level
    of the machine, where both were seen."""

    comparison: Comparison
    reference: Allocator
    candidate: Allocator
    band: float
    interval: statistics.Interval
    verdict: str
    noise: statistics.Noise
    reason: str
    levels: levels.Levels | None = None

    @property
    def unfinished(self) -> bool:
        """Whether it ended before it could have a verdict."""
        return not can_be_judged(self.comparison)

    @property
    def change(self) -> str:
        """The estimate with its interval, for people; what was counted needs none."""
        exact = self.comparison.metric == "instructions"
        return f"{signed(100 * self.interval.change)} % [counted]" if exact else str(self.interval)

    @property
    def said(self) -> str:
        """The verdict for people."""
        return f"{self.verdict} (unfinished)" if self.unfinished else self.verdict


@dataclass
class Experiment:
    """What is recorded. `question` is one line; `kind` is "ab" or "price"; `level` a key of LEVELS."""

    question: str
    kind: str
    level: str
    machine: Machine
    outcomes: list[Outcome] = field(default_factory=list)
    reason: str = ""

    @property
    def verdict(self) -> str:
        """That of the first workload, which is the mixed one unless other workloads were asked for."""
        return self.outcomes[0].verdict

    @property
    def unfinished(self) -> bool:
        """Whether nothing of it could have a verdict."""
        return all(found.unfinished for found in self.outcomes)


def can_be_judged(comparison: Comparison) -> bool:
    """Whether there are blocks enough. Who interrupts may do so because of how it looks: that wants as many as a run that nobody ends."""
    if comparison.metric == "instructions":
        return True
    wanted = statistics.MINIMUM_BLOCKS if comparison.stopped == "interrupted" else statistics.FEWEST_BLOCKS
    return len(comparison.blocks) >= wanted


def outcome(comparison: Comparison, candidate: Allocator, band: float) -> Outcome:
    """Judges `candidate` against the comparison's first allocator. Needs one complete block."""
    reference = comparison.allocators[0]
    interval = comparison.interval(candidate.name)
    noise = statistics.noise(interval, band)
    verdict = statistics.verdict(interval, band) if can_be_judged(comparison) else "NEUTRAL"
    reason = reason_of(interval, verdict, noise, band, comparison)
    seen = [kind.of(comparison, candidate.name, reference.name) for kind in KINDS]
    two = next((found for found in seen if found), None)
    return Outcome(comparison, reference, candidate, band, interval, verdict, noise, reason, two)


def reason_of(
    interval: statistics.Interval, verdict: str, noise: statistics.Noise, band: float, comparison: Comparison
) -> str:
    """One line that says why this is the verdict, and what would make it surer."""
    limit = f"{100 * band:.1f} %"
    if comparison.metric == "instructions":
        return f"counted, not timed: {signed(100 * (1 / interval.median - 1))} % instructions, the band is {limit}"
    if interval.n < statistics.FEWEST_BLOCKS:
        return f"too few blocks for a verdict: {interval.n}, and at least {statistics.FEWEST_BLOCKS} are needed"
    if not can_be_judged(comparison):
        return f"interrupted after {counted(interval.n, 'block')}: no verdict, {statistics.MINIMUM_BLOCKS} are wanted of a run that somebody ends"
    if verdict != "NEUTRAL":
        way = "faster" if verdict == "GO" else "slower"
        line = f"{100 * abs(interval.change):.2f} % {way}: beyond {limit}, and the interval leaves out zero"
    elif noise.too_noisy:
        line = (
            f"too noisy to tell: a change of {limit} may hide in ±{100 * noise.half_width:.2f} %; "
            f"about {counted(noise.more_blocks, 'more block')} ({spoken_time(noise.more_blocks * comparison.seconds_per_block)}) would tell"
        )
    elif interval.covers():
        line = f"no change is seen: the interval covers zero, and no change of {limit} fits in it"
    else:
        line = f"a change is seen, inside the band of {limit}"
    few = interval.n < statistics.MINIMUM_BLOCKS
    return line + (f" (few blocks: {interval.n}, and {statistics.MINIMUM_BLOCKS} are wanted)" if few else "")
