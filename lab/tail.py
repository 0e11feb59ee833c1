"""Latency of single calls: what bench/tail/tail_mixed measures, as HdrHistograms, merged over interleaved runs.

A duration is read in ticks of the processor's counter, between two readings. The readings have a cost of their own:
beside every call the driver times a pair of readings with nothing between them, under the same conditions, and the
median of those pairs of the same run is taken off every duration of that run (below 0 counts as 0). What is left of
the pairs' own tail is the row `clock`: interrupts, other processes, the hypervisor. No allocator can be told from
another below that row. Histograms hold tenths of a nanosecond with three significant digits (G. Tene, HdrHistogram).

The subtraction is right for the typical call; the fences around a call keep it from overlapping with its neighbours,
so that it looks slower than in a loop without a clock: compare allocators, do not add up nanoseconds.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hdrh.histogram import HdrHistogram

from lab import run
from lab.errors import CrashError, LabError
from lab.model import Allocator, Sample, Workload

CALLS = ("malloc", "free")
CLOCK = "clock"
PERCENTS = (50.0, 90.0, 99.0, 99.9, 99.99)
UNITS_PER_NS = 10
LONGEST_NS = 1_000_000_000_000
DIGITS = 3
HEAD = re.compile(r"\[CLOCK\] name=(\w+) ticks=(\d+) ns=(\d+)")
TITLE = re.compile(r"\[HISTOGRAM\] (\w+) count=(\d+) max=(\d+)")


@dataclass(frozen=True)
class Recording:
    """One run of the driver. `buckets` holds (lowest, highest, count) in ticks for malloc, free and clock."""

    clock: str
    ticks_per_ns: float
    buckets: dict[str, list[tuple[int, int, int]]]

    @property
    def cost_ticks(self) -> float:
        """The cost of the clock: the median of the pairs with nothing between them."""
        pairs = self.buckets[CLOCK]
        half, seen = sum(count for _, _, count in pairs) / 2, 0
        for lowest, highest, count in pairs:
            seen += count
            if seen >= half:
                return (lowest + highest) / 2
        raise LabError("the driver measured no clock")

    def histogram(self, what: str) -> HdrHistogram:
        """Durations of `what`, the clock's cost taken off."""
        found = empty()
        for lowest, highest, count in self.buckets[what]:
            ns = max(0.0, (lowest + highest) / 2 - self.cost_ticks) / self.ticks_per_ns
            found.record_value(min(round(ns * UNITS_PER_NS), LONGEST_NS * UNITS_PER_NS), count)
        return found


def empty() -> HdrHistogram:
    """A histogram of tenths of nanoseconds."""
    return HdrHistogram(1, LONGEST_NS * UNITS_PER_NS, DIGITS)


def parse(text: str) -> Recording:
    """What the driver wrote. Raises LabError when it is not whole."""
    lines = text.splitlines()
    head = HEAD.fullmatch(lines[0]) if lines else None
    if not head or not int(head.group(2)) or not int(head.group(3)):
        raise LabError("the latency driver wrote no clock", "build it again: scripts/build_bench.sh tail_mixed")
    buckets: dict[str, list[tuple[int, int, int]]] = {}
    promised: dict[str, int] = {}
    for line in lines[1:]:
        title = TITLE.fullmatch(line)
        if title:
            name = title.group(1)
            promised[name], buckets[name] = int(title.group(2)), []
        else:
            lowest, highest, count = map(int, line.split())
            buckets[name].append((lowest, highest, count))
    for name in (*CALLS, CLOCK):
        if promised.get(name) != sum(count for _, _, count in buckets.get(name, [])):
            raise LabError(f"the latency driver's counts of {name} are not whole")
    return Recording(head.group(1), int(head.group(2)) / int(head.group(3)), buckets)


@dataclass
class Tail:
    """One allocator: `runs` has a dictionary of histograms (malloc, free, clock) for each run."""

    name: str
    runs: list[dict[str, HdrHistogram]] = field(default_factory=list)
    cost_ns: list[float] = field(default_factory=list)

    def add(self, recording: Recording) -> None:
        """Takes one run."""
        self.runs.append({what: recording.histogram(what) for what in (*CALLS, CLOCK)})
        self.cost_ns.append(recording.cost_ticks / recording.ticks_per_ns)

    def merged(self, what: str) -> HdrHistogram:
        """All runs in one histogram."""
        return merge([histograms[what] for histograms in self.runs])


def merge(histograms: Sequence[HdrHistogram]) -> HdrHistogram:
    """The sum of histograms."""
    found = empty()
    for histogram in histograms:
        found.add(histogram)
    return found


def percentiles(histogram: HdrHistogram) -> list[float]:
    """Nanoseconds at each of PERCENTS, then the largest."""
    values = [histogram.get_value_at_percentile(percent) for percent in PERCENTS]
    return [value / UNITS_PER_NS for value in [*values, histogram.get_max_value()]]


def curve(histogram: HdrHistogram, points_per_halving: int = 5) -> tuple[list[float], list[float]]:
    """(1 / (1 - quantile), nanoseconds): the latency curve of HdrHistogram's plots, up to the last recorded call."""
    ranks, values, rank = [], [], 1.0
    while rank <= histogram.get_total_count():
        ranks.append(rank)
        values.append(histogram.get_value_at_percentile(100 * (1 - 1 / rank)) / UNITS_PER_NS)
        rank *= 2 ** (1 / points_per_halving)
    return ranks, values


@dataclass
class Calls:
    """The result of `measure`. `tails` is in the order in which the allocators were asked for."""

    working_set: int
    iterations: int
    tails: dict[str, Tail] = field(default_factory=dict)
    crashed: dict[str, str] = field(default_factory=dict)
    interrupted: bool = False

    def clock(self) -> HdrHistogram:
        """What is measured when nothing is called: all runs of all allocators."""
        return merge([histograms[CLOCK] for tail in self.tails.values() for histograms in tail.runs])

    def cost_ns(self) -> float:
        """The median cost of the clock that was taken off."""
        costs = sorted(cost for tail in self.tails.values() for cost in tail.cost_ns)
        return costs[len(costs) // 2] if costs else 0.0

    def as_json(self) -> dict[str, Any]:
        """Percentiles of all runs together and of each run, in nanoseconds."""
        return {
            "working_set": self.working_set,
            "iterations": self.iterations,
            "percents": [*PERCENTS, 100.0],
            "clock_cost_ns": self.cost_ns(),
            "clock": percentiles(self.clock()) if self.measured() else [],
            "allocators": {tail.name: _figures(tail) for tail in self.measured()},
            "crashed": self.crashed,
            "interrupted": self.interrupted,
        }

    def measured(self) -> list[Tail]:
        """The allocators with at least one run."""
        return [tail for tail in self.tails.values() if tail.runs]


def _figures(tail: Tail) -> dict[str, Any]:
    return {
        what: {
            "count": tail.merged(what).get_total_count(),
            "ns": percentiles(tail.merged(what)),
            "runs": [percentiles(histograms[what]) for histograms in tail.runs],
        }
        for what in CALLS
    }


Runner = Callable[..., Sample]


def record(
    driver: str,
    allocator: Allocator,
    iterations: int,
    working_set: int,
    seed: int,
    cpu: int | None,
    runner: Runner = run.run_once,
) -> Recording:
    """One run of the driver. Raises CrashError as lab.run does."""
    with tempfile.TemporaryDirectory(prefix="hakmem-tail-") as directory:
        path = Path(directory) / "histograms"
        command = [driver, str(iterations), str(working_set), str(seed), str(path)]
        runner(Workload("tail_mixed", "how long do single calls take?", command, unit="s"), allocator, cpu=cpu)
        return parse(path.read_text())


def measure(
    driver: str,
    allocators: Sequence[Allocator],
    *,
    runs: int,
    iterations: int,
    working_set: int,
    seed: int = 1,
    cpu: int | None = None,
    on_progress: Callable[[str, int], None] | None = None,
    runner: Runner = run.run_once,
) -> Calls:
    """`runs` rounds, each one run of every allocator in a random order; a round's runs draw the same numbers.

    `on_progress` gets the allocator's name and how many runs are done. An allocator that crashes leaves, and Ctrl-C
    ends it; what is measured is kept.
    """
    result = Calls(working_set, iterations, {allocator.name: Tail(allocator.name) for allocator in allocators})
    order, left, done = random.Random(seed), list(allocators), 0
    try:
        for number in range(runs):
            for allocator in order.sample(left, len(left)):
                if on_progress:
                    on_progress(allocator.name, done)
                try:
                    recording = record(driver, allocator, iterations, working_set, seed + number, cpu, runner)
                except CrashError as error:
                    result.crashed[allocator.name] = error.message
                    left.remove(allocator)
                else:
                    result.tails[allocator.name].add(recording)
                done += 1
    except KeyboardInterrupt:
        result.interrupted = True
    return result
