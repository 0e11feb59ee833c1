"""Start-up: what an allocator costs a program that does nothing (`true`), over glibc, which needs no preload.

User and system time of the whole process, loading the library included. Each round runs every allocator once in a
random order; the extra time is the median of the differences to glibc of the same round, with a bootstrap interval.
System calls are counted once by strace where it is there.
"""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass, field
from functools import partial
from statistics import median

import numpy as np
from scipy import stats

from lab import peers, run
from lab.errors import CrashError, LabError
from lab.model import Allocator, Sample, Workload
from lab.pairs import Runner
from lab.scorecard.card import Startup, StartupRow
from lab.scorecard.setting import Setting, Timer

MOST_ROUNDS = 400
FEWEST_ROUNDS = 10
KB_PER_MB = 1024
MICROSECONDS = 1e6


@dataclass
class _Rounds:
    """Samples by allocator, one a round, all lists of the same length."""

    samples: dict[str, list[Sample]] = field(default_factory=dict)

    def add(self, taken: dict[str, Sample]) -> None:
        for name, sample in taken.items():
            self.samples.setdefault(name, []).append(sample)


_quick_run = partial(run.run_once, machine=False)


def measure(startup: Startup, setting: Setting, seconds: float, runner: Runner = _quick_run) -> str:
    """Fills `startup`; also when Ctrl-C passes through."""
    timer = Timer(seconds, setting.clock)
    program = shutil.which("true")
    if not program:
        raise LabError("there is no program `true`", "install the Debian package coreutils")
    startup.program = program
    workload = Workload("start", "what does starting cost?", [program], unit="s", higher_is_better=False)
    setting.prove(workload)
    reference = next((each for each in setting.allocators if each.path is None), peers.glibc())
    taking = [reference, *(each for each in setting.allocators if each.name != reference.name)]
    counted = _count_calls(workload, taking, setting)
    rounds, rng = _Rounds(), random.Random(setting.seed)
    try:
        for number in range(MOST_ROUNDS):
            if number >= FEWEST_ROUNDS and not timer.left:
                break
            setting.tell(f"start-up: round {number + 1}")
            rounds.add(_round(workload, taking, startup.failures, rng, runner, setting.cpu))
    finally:
        startup.rows = [row_of(name, rounds.samples, reference.name, counted) for name in rounds.samples]
        startup.runs = min((len(samples) for samples in rounds.samples.values()), default=0)
    return ""


def _round(
    workload: Workload,
    taking: list[Allocator],
    failures: dict[str, str],
    rng: random.Random,
    runner: Runner,
    cpu: int | None,
) -> dict[str, Sample]:
    taken = {}
    for allocator in rng.sample(taking, len(taking)):
        if allocator.name in failures:
            continue
        try:
            taken[allocator.name] = runner(workload, allocator, cpu=cpu)
        except CrashError as error:
            failures[allocator.name] = error.message
    return taken


def _count_calls(workload: Workload, taking: list[Allocator], setting: Setting) -> dict[str, int]:
    counted = {}
    for allocator in taking:
        setting.tell(f"start-up: system calls of {allocator.name}")
        try:
            counted[allocator.name] = sum(run.syscalls(workload, allocator).values())
        except LabError:
            return {}
    return counted


def row_of(name: str, samples: dict[str, list[Sample]], reference: str, counted: dict[str, int]) -> StartupRow:
    """The medians of one allocator; the difference is to the reference's sample of the same round."""
    mine = samples[name]
    pairs = list(zip(mine, samples.get(reference, []), strict=False))
    extra = [MICROSECONDS * (ours.cpu_s - theirs.cpu_s) for ours, theirs in pairs]
    middle, low, high = interval(extra)
    return StartupRow(
        name,
        median(MICROSECONDS * sample.cpu_s for sample in mine),
        middle,
        low,
        high,
        median(sample.minor_faults + sample.major_faults for sample in mine),
        median(sample.peak_rss_kb for sample in mine) / KB_PER_MB,
        counted.get(name),
    )


def interval(differences: list[float]) -> tuple[float, float, float]:
    """The median and its 95 % percentile bootstrap interval, as in lab/statistics.py; zeros without differences."""
    if not differences:
        return 0.0, 0.0, 0.0
    middle = median(differences)
    if min(differences) == max(differences):
        return middle, middle, middle
    found = stats.bootstrap(
        (np.array(differences),), np.median, n_resamples=1999, method="percentile", random_state=np.random.default_rng(0)
    ).confidence_interval
    return middle, float(found.low), float(found.high)
