"""Interleaved comparisons: blocks of short runs, one ratio a block.

A block runs every allocator twice: in a random order, then in that order backwards (A B B A, or B A A B). What drifts
evenly through a block then costs both sides the same, and the order favours nobody. A block is short against the
minutes for which a machine's speed changes, so nearly every ratio is taken at one speed; the few blocks that a change
falls into are outliers, which the median of the ratios ignores. All runs of a block share a CPU.

When it ends: at `max_pairs` blocks, when the budget is spent, or when the interval is narrow enough. Significance is
never a reason to stop, so that looking often finds no more false changes than looking once: a narrow interval says
nothing about the sign of the change. Width is looked at after 10, 14, 20, 28, 40 ... blocks only, since stopping at the
first moment that looks narrow would favour intervals that are narrow by luck.

Ctrl-C ends the comparison and keeps it: the blocks count, the runs of the unfinished block are kept beside them.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from lab import run, statistics
from lab.errors import LabError
from lab.model import Allocator, Sample, Workload

METRICS = ("cpu", "wall", "throughput", "instructions")
LOOKS_GROW = math.sqrt(2)
Runner = Callable[..., Sample]


@dataclass(frozen=True)
class Run:
    """One run of the allocator called `name`."""

    name: str
    sample: Sample


@dataclass
class Comparison:
    """What was measured. `allocators[0]` is the reference of the stop rule; `metric` the one it looked at.

    `blocks` are complete. `warm_up` holds the first run of each allocator, which no ratio uses, and `unfinished` the
    runs of a block that was cut. `stopped` is "precision", "budget", "pairs" or "interrupted"; `seconds` the wall time.
    """

    workload: Workload
    allocators: list[Allocator]
    metric: str
    cpu: int | None = None
    blocks: list[list[Run]] = field(default_factory=list)
    warm_up: list[Run] = field(default_factory=list)
    unfinished: list[Run] = field(default_factory=list)
    stopped: str = ""
    seconds: float = 0.0

    def samples(self, name: str) -> list[Sample]:
        """Every run of `name` in complete blocks, in the order of the clock."""
        return [entry.sample for block in self.blocks for entry in block if entry.name == name]

    def values(self, name: str) -> list[float]:
        """The samples' values, in the workload's unit."""
        return [sample.value for sample in self.samples(name)]

    def ratios(self, name: str, reference: str, metric: str | None = None) -> np.ndarray:
        """Speed of `name` over speed of `reference`, one a block: the geometric means of their runs divided."""
        chosen = metric or self.metric
        logs = [
            _log_speed(block, name, self.workload, chosen) - _log_speed(block, reference, self.workload, chosen)
            for block in self.blocks
        ]
        return np.exp(np.array(logs))

    def interval(self, name: str, reference: str | None = None, metric: str | None = None) -> statistics.Interval:
        """Interval of the ratio of `name` to `reference` (default: the first allocator). Needs one complete block."""
        return statistics.ratio_interval(self.ratios(name, reference or self.allocators[0].name, metric))

    @property
    def seconds_per_block(self) -> float:
        """Wall time of a block, between blocks included; 0 without blocks."""
        return self.seconds / len(self.blocks) if self.blocks else 0.0


def default_metric(workload: Workload) -> str:
    """CPU time for one thread: it does not count the time in which another process had the CPU (docs/lab.md).

    With several threads waiting is part of the answer, so there it is what the workload reports.
    """
    return "cpu" if workload.threads == 1 else "throughput"


def speed(sample: Sample, workload: Workload, metric: str) -> float:
    """A figure that grows with speed. Raises LabError when the sample has no such figure above zero."""
    cost = {
        "cpu": sample.cpu_s,
        "wall": sample.wall_s,
        "instructions": float(sample.extra.get("instructions", 0)),
        "throughput": 1 / sample.value if workload.higher_is_better and sample.value > 0 else sample.value,
    }[metric]
    if not cost > 0:
        raise LabError(
            f"a run of {workload.name} has no {metric} above zero", "choose another --metric, or longer runs"
        )
    return 1 / cost


def _log_speed(block: Sequence[Run], name: str, workload: Workload, metric: str) -> float:
    return float(np.mean([math.log(speed(entry.sample, workload, metric)) for entry in block if entry.name == name]))


def schedule(names: Sequence[str], pairs: int, rng: random.Random) -> list[list[str]]:
    """`pairs` blocks, each a random order of the names followed by the same order backwards."""
    blocks = []
    for _ in range(pairs):
        order = rng.sample(list(names), len(names))
        blocks.append(order + order[::-1])
    return blocks


def compare(
    workload: Workload,
    allocators: Sequence[Allocator],
    *,
    budget_s: float = 60.0,
    min_pairs: int = statistics.MINIMUM_BLOCKS,
    max_pairs: int = 1000,
    precision: float | None = statistics.BAND_RUN_TIME / 2,
    on_progress: Callable[[Comparison], None] | None = None,
    metric: str | None = None,
    cpu: int | None = None,
    seed: int = 0,
    witness: bool = True,
    runner: Runner = run.run_once,
    clock: Callable[[], float] = time.monotonic,
) -> Comparison:
    """Measures all allocators against each other on one workload.

    `precision` is the half width of the intervals against the first allocator at which it stops (a fraction; None: never
    for that reason), `min_pairs` and `max_pairs` are blocks. The budget (wall seconds) wins over `min_pairs`, but one block
    is always run. `cpu` defaults to run.default_cpu; -1 does not pin. `on_progress` is called after every run.

    Raises WitnessError before anything is measured, CrashError when a run fails, ValueError for equal names.
    """
    names = [allocator.name for allocator in allocators]
    if len(set(names)) < len(names) or not names:
        raise ValueError("a comparison needs allocators of different names")
    if witness:
        _prove(workload, allocators)
    chosen = run.default_cpu(workload) if cpu is None else cpu
    result = Comparison(
        workload, list(allocators), metric or default_metric(workload), None if chosen == -1 else chosen
    )
    measure = _Measurement(result, runner, on_progress, clock)
    look, rng = min_pairs, random.Random(seed)
    try:
        measure.warm_up()
        while not result.stopped:
            measure.block(schedule(names, 1, rng)[0])
            done = len(result.blocks)
            if done >= max_pairs:
                result.stopped = "pairs"
            elif precision is not None and done >= look:
                look = max(done + 1, round(done * LOOKS_GROW))
                if _narrow(result, precision):
                    result.stopped = "precision"
            if not result.stopped and measure.spent() + measure.longest_block() > budget_s:
                result.stopped = "budget"
    except KeyboardInterrupt:
        result.stopped = "interrupted"
    return result


class _Measurement:
    """Runs what it is told and puts it where it belongs in the comparison."""

    def __init__(
        self,
        result: Comparison,
        runner: Runner,
        on_progress: Callable[[Comparison], None] | None,
        clock: Callable[[], float],
    ) -> None:
        self.result, self.runner, self.on_progress, self.clock = result, runner, on_progress, clock
        self.allocators = {allocator.name: allocator for allocator in result.allocators}
        self.began, self.order = clock(), 0
        self.lengths: list[float] = []

    def spent(self) -> float:
        return self.clock() - self.began

    def one(self, name: str) -> Run:
        sample = self.runner(self.result.workload, self.allocators[name], cpu=self.result.cpu)
        done = Run(name, replace(sample, order=self.order))
        self.order += 1
        self.result.seconds = self.spent()
        return done

    def tell(self) -> None:
        if self.on_progress:
            self.on_progress(self.result)

    def warm_up(self) -> None:
        for name in self.allocators:
            self.result.warm_up.append(self.one(name))
            self.tell()

    def longest_block(self) -> float:
        """Wall seconds of the longest of the last ten blocks: what the next one may take."""
        return max(self.lengths[-10:])

    def block(self, order: Sequence[str]) -> None:
        unfinished, began = self.result.unfinished, self.clock()
        for name in order:
            unfinished.append(self.one(name))
            self.tell()
        self.result.blocks.append(list(unfinished))
        self.lengths.append(self.clock() - began)
        unfinished.clear()


def _narrow(result: Comparison, precision: float) -> bool:
    reference, *others = (allocator.name for allocator in result.allocators)
    intervals = (
        statistics.ratio_interval(result.ratios(name, reference), resamples=statistics.RESAMPLES // 10)
        for name in others
    )
    return all(interval.half_width <= precision for interval in intervals)


def _prove(workload: Workload, allocators: Sequence[Allocator]) -> None:
    from lab.witness import prove

    for allocator in allocators:
        prove(allocator, workload.command, run.environment(workload, allocator))


def counted(workload: Workload, allocator: Allocator, *, cpu: int | None = None) -> Sample:
    """A runner whose samples hold instructions, for the metric of that name; their times mean nothing."""
    started = time.time()
    count = run.instructions(workload, allocator)
    return Sample(0.0, 0.0, 0.0, 0.0, 0, started=started, extra={"instructions": count})
