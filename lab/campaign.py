"""A campaign: many workloads, every allocator against a reference, within a budget of time.

Before anything is measured the witness has seen every allocator own malloc in every program; a mismatch ends the
campaign (lab/witness.py). Each workload is then one interleaved comparison (lab/pairs.py). An allocator that crashes
is reported and left out of that workload; the others are measured without it. Ctrl-C keeps what was measured.

The budget is shared in proportion to the length of the runs, so that every workload gets about as many blocks; what
one does not need goes to those after it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from lab import pairs, run, statistics, streams, witness
from lab.errors import CrashError
from lab.model import Allocator, Sample, Workload
from lab.pairs import Comparison
from lab.statistics import Interval

PRECISION = statistics.BAND_RUN_TIME
OVERHEAD = 1.25  # wall time over the run's own: starting processes, the machine's other work
SHORTEST_TIMEOUT_S = 120.0

Step = Callable[[Workload, Comparison | None], None]


@dataclass
class Result:
    """One workload. `comparison` is None when nothing could be measured; `failures` says why, by allocator."""

    workload: Workload
    comparison: Comparison | None = None
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def told(self) -> bool:
        """Is there anything to tell: figures, or who has crashed?"""
        return bool(self.measured or self.failures)

    @property
    def measured(self) -> list[str]:
        """The allocators that have figures: there is at least one complete block."""
        return [each.name for each in self.comparison.allocators] if self.comparison and self.comparison.blocks else []

    def median(self, name: str, of: Callable[[Sample], float]) -> float:
        """The median of a figure of the runs of `name`, which must be in `measured`."""
        assert self.comparison
        return float(np.median([of(sample) for sample in self.comparison.samples(name)]))

    def peak_kb(self, name: str) -> float:
        """Median of the peak RSS in KiB."""
        return self.median(name, lambda sample: sample.peak_rss_kb)

    def interval(self, name: str, reference: str) -> Interval:
        """Speed of `name` to speed of `reference`, both in `measured`."""
        assert self.comparison
        return self.comparison.interval(name, reference)

    def fastest_first(self) -> list[str]:
        """The allocators in `measured` by their median speed."""
        assert self.comparison or not self.measured
        return sorted(self.measured, key=lambda name: -np.median(self.comparison.ratios(name, self.measured[0])))

    def best_peer(self, reference: str) -> str | None:
        """The fastest of the others. It is chosen by the same runs, which makes `reference` look slightly worse."""
        others = [name for name in self.fastest_first() if name != reference]
        return others[0] if reference in self.measured and others else None

    def smallest_peer(self, reference: str) -> str | None:
        """The one of the others whose peak RSS is the lowest."""
        others = [name for name in self.measured if name != reference]
        return min(others, key=self.peak_kb) if reference in self.measured and others else None


@dataclass
class Campaign:
    """What came of it. `reference` is the allocator that the others are compared with."""

    reference: str
    allocators: list[Allocator]
    results: list[Result] = field(default_factory=list)
    interrupted: bool = False


def standing(interval: Interval, band: float = PRECISION) -> str:
    """Where a ratio stands against one: ahead, behind, level (within the band for sure), or what is missing to tell."""
    if interval.n < statistics.MINIMUM_BLOCKS:
        return "too few"
    if interval.low > 1:
        return "ahead"
    if interval.high < 1:
        return "behind"
    return "level" if interval.low >= 1 - band and interval.high <= 1 + band else "too noisy"


def forecast_s(workloads: Sequence[Workload], allocators: int, blocks: int) -> float:
    """Roughly how many seconds so many blocks of every workload take."""
    return OVERHEAD * sum(workload.seconds for workload in workloads) * allocators * (1 + 2 * blocks)


def work_s(comparison: Comparison | None) -> float:
    """What the runs of a comparison that is under way were forecast to take, in seconds."""
    if comparison is None:
        return 0.0
    runs = len(comparison.warm_up) + len(comparison.unfinished) + sum(map(len, comparison.blocks))
    return OVERHEAD * comparison.workload.seconds * runs


def geometric_mean(ratios: Sequence[float]) -> float:
    """Of ratios above zero; 1 without any."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 1.0


def prove(
    workloads: Sequence[Workload],
    allocators: Sequence[Allocator],
    on_step: Callable[[str], None] = lambda _: None,
    witness_of: Callable[..., str] = witness.prove,
) -> None:
    """The witness sees every allocator in every program once. Raises WitnessError."""
    seen: set[tuple[str, ...]] = set()
    for workload in workloads:
        program = tuple(workload.command) if workload.group == "real" else (workload.command[0],)
        if program in seen:
            continue
        seen.add(program)
        for allocator in allocators:
            on_step(f"witness: {allocator.name} in {workload.name}")
            witness_of(allocator, workload.command, run.environment(workload, allocator))


def measure(
    workloads: Sequence[Workload],
    allocators: Sequence[Allocator],
    *,
    budget_s: float | None = None,
    blocks: int = 1000,
    precision: float | None = PRECISION,
    seed: int = 0,
    on_step: Step = lambda workload, comparison: None,
    on_result: Callable[[Result], None] = lambda result: None,
    runner: pairs.Runner = run.run_once,
    clock: Callable[[], float] = time.monotonic,
) -> Campaign:
    """Measures every workload; `allocators[0]` is the reference. At most `blocks` blocks each, and `budget_s` together.

    The witness is the caller's to call before (`prove`).
    """
    campaign = Campaign(allocators[0].name, list(allocators))
    began = clock()
    for index, workload in enumerate(workloads):
        left = None if budget_s is None else budget_s - (clock() - began)
        if left is not None and left <= 0:
            break
        weight = workload.seconds / sum(each.seconds for each in workloads[index:])
        share = math.inf if left is None else left * weight
        result = Result(workload)
        campaign.results.append(result)
        try:
            on_step(workload, None)
            _compare(result, allocators, share, blocks, precision, seed, on_step, runner, clock)
        except KeyboardInterrupt:
            campaign.interrupted = True
        try:
            on_result(result)
        except streams.NoReader:  # who tells it finds that out again, once what was measured is kept
            campaign.interrupted = True
        if campaign.interrupted or (result.comparison and result.comparison.stopped == "interrupted"):
            campaign.interrupted = True
            break
    return campaign


class _Crashed(Exception):
    """Which allocator a run crashed on."""

    def __init__(self, name: str, error: CrashError) -> None:
        super().__init__(name)
        self.name, self.error = name, error


def _compare(
    result: Result,
    allocators: Sequence[Allocator],
    share: float,
    blocks: int,
    precision: float | None,
    seed: int,
    on_step: Step,
    runner: pairs.Runner,
    clock: Callable[[], float],
) -> None:
    """Compares until nobody crashes, without those that did."""

    def guarded(workload: Workload, allocator: Allocator, *, cpu: int | None = None) -> Sample:
        try:
            return runner(workload, allocator, cpu=cpu)
        except CrashError as error:
            raise _Crashed(allocator.name, error) from None

    sound = list(allocators)
    while sound:
        try:
            result.comparison = pairs.compare(
                result.workload,
                sound,
                budget_s=share,
                max_pairs=blocks,
                precision=precision,
                on_progress=lambda comparison: on_step(result.workload, comparison),
                seed=seed,
                witness=False,
                runner=guarded,
                clock=clock,
            )
            return
        except _Crashed as crash:
            result.failures[crash.name] = crash.error.message
            sound = [each for each in sound if each.name != crash.name]


def as_json(campaign: Campaign) -> dict[str, Any]:
    """Everything of a campaign as plain values: every run, every interval."""
    return {
        "reference": campaign.reference,
        "interrupted": campaign.interrupted,
        "allocators": [asdict(allocator) for allocator in campaign.allocators],
        "results": [_result_as_json(result, campaign.reference) for result in campaign.results],
    }


def _result_as_json(result: Result, reference: str) -> dict[str, Any]:
    comparison = result.comparison
    values: dict[str, Any] = {"workload": asdict(result.workload), "failures": result.failures}
    if comparison:
        values |= {name: getattr(comparison, name) for name in ("metric", "cpu", "stopped", "seconds")}
        values |= {
            "blocks": [[asdict(entry) for entry in block] for block in comparison.blocks],
            "warm_up": [asdict(entry) for entry in comparison.warm_up],
            "unfinished": [asdict(entry) for entry in comparison.unfinished],
        }
    if reference in result.measured:
        values["speed_to_reference"] = {name: result.interval(name, reference).json() for name in result.measured}
        values["best_peer"] = result.best_peer(reference)
    return values
