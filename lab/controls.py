"""The lab's controls: what it must not find, what it must find, and the smallest change that it can find.

negative   two builds of the same source: NEUTRAL in at least 38 of 40 experiments (95 %)
positive   a build with the box `tax` open, four instructions more per call: NO-GO in at least 9 of 10, each
           within five minutes, so the budget is a little less
power      A against A for a while: the smallest change that would be found in 1, 5 and 20 minutes

The power is computed from the noise that this machine has now (statistics.power), for every metric, so that it can be
seen which metric is the quietest here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lab import experiment, pairs, statistics
from lab.model import Allocator, Workload

Compare = Callable[..., pairs.Comparison]


@dataclass(frozen=True)
class Control:
    """What is wanted: `verdict` in at least the fraction `bar` of the trials, each in at most `budget_s` seconds."""

    name: str
    verdict: str
    bar: float
    trials: int
    budget_s: float = 270.0


NEGATIVE = Control("negative", "NEUTRAL", 38 / 40, 40)
POSITIVE = Control("positive", "NO-GO", 9 / 10, 10)


@dataclass
class Trials:
    """What came out: the verdicts, and each experiment's outcome."""

    control: Control
    outcomes: list[experiment.Outcome] = field(default_factory=list)

    @property
    def verdicts(self) -> Counter[str]:
        """How often each verdict was given."""
        return Counter(found.verdict for found in self.outcomes)

    @property
    def passed(self) -> bool:
        """Whether the bar is reached, by the experiments that were done."""
        wanted = self.verdicts[self.control.verdict]
        return bool(self.outcomes) and wanted >= self.control.bar * len(self.outcomes) - 1e-9

    def text(self) -> str:
        """One line for people."""
        counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(self.verdicts.items()))
        seconds = statistics.summary([found.comparison.seconds for found in self.outcomes])
        changes = statistics.summary([100 * found.interval.change for found in self.outcomes])
        return (
            f"{self.control.name} control: {'passed' if self.passed else 'FAILED'}: {counts} of {len(self.outcomes)}; "
            f"change {changes.min:+.2f} to {changes.max:+.2f} %, {seconds.min:.0f} to {seconds.max:.0f} s each"
        )


def trials(
    control: Control,
    workload: Workload,
    sides: Sequence[Allocator],
    *,
    band: float,
    on_trial: Callable[[Trials], None] | None = None,
    compare: Compare | None = None,
    seed: int = 0,
    **how: Any,
) -> Trials:
    """Runs the control's experiments one after the other; `how` goes to `compare`. Ctrl-C keeps those that ended."""
    done = Trials(control)
    for number in range(control.trials):
        budget = control.budget_s
        found = (compare or pairs.compare)(
            workload, sides, budget_s=budget, precision=band / 2, seed=seed + number, witness=number == 0, **how
        )
        if found.stopped == "interrupted":
            break
        done.outcomes.append(experiment.outcome(found, sides[1], band))
        if on_trial:
            on_trial(done)
    return done


@dataclass(frozen=True)
class MetricPower:
    """How noisy one metric is: the spread of the block ratios (a robust standard deviation), and what it lets be found."""

    metric: str
    spread: float
    found: list[statistics.Power]


def measure_power(
    workload: Workload,
    allocator: Allocator,
    *,
    budget_s: float,
    band: float,
    compare: Compare | None = None,
    metrics: Sequence[str] = ("cpu", "wall", "throughput"),
    **how: Any,
) -> tuple[pairs.Comparison, list[MetricPower]]:
    """A against A for `budget_s` seconds; the comparison, and the power of each metric, or none of too few blocks."""
    sides = [replace(allocator, name=f"{allocator.name}-{number}") for number in (1, 2)]
    measured = (compare or pairs.compare)(workload, sides, budget_s=budget_s, precision=None, max_pairs=100_000, **how)
    powers = []
    for metric in metrics if len(measured.blocks) >= statistics.FEWEST_BLOCKS else ():
        ratios = measured.ratios(sides[1].name, sides[0].name, metric)
        logs = np.log(ratios)
        spread = 1.4826 * float(np.median(np.abs(logs - np.median(logs))))
        found = statistics.power(ratios, measured.seconds_per_block, band=band)
        powers.append(MetricPower(metric, spread, found))
    return measured, powers


def power_table(powers: Sequence[MetricPower]) -> list[str]:
    """Lines of text: a row for each metric and budget."""
    lines = [f"{'metric':<12}{'noise of a block':>18}{'minutes':>9}{'blocks':>8}{'seen':>9}{'called':>9}"]
    for power in powers:
        for found in power.found:
            lines.append(
                f"{power.metric:<12}{100 * power.spread:>16.2f} %{found.budget_s / 60:>9.0f}{found.blocks:>8}"
                f"{100 * found.seen:>7.2f} %{100 * found.called:>7.2f} %"
            )
    return lines
