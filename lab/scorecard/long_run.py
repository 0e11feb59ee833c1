"""Sections 4 and 5, the long run: the mixed workload in one process for each allocator, which take turns.

Epochs of about a second, a random order in each round (lab/soak): what slows the machine for longer than a round slows
all of them alike. Beside the drift and the CV of the epochs themselves, which are the machine's as much as the
allocator's, there are the same of each epoch's speed over the mean speed of the others in the same round.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from lab import lineup, programs
from lab.scorecard.card import LongRun, LongRunRow
from lab.scorecard.setting import Setting, Timer
from lab.soak import measure as soaks
from lab.soak import sources
from lab.soak.outcome import Soak
from lab.spoken import counted
from lab.steadiness import WANTED_EPOCHS, EpochTail, Spread

EPOCH_S = 1.0
WORKING_SET = 400


def measure(long_run: LongRun, setting: Setting, seconds: float) -> str:
    """Fills `long_run`. Raises KeyboardInterrupt when Ctrl-C ended it; what is there is kept."""
    timer = Timer(seconds, setting.clock)
    driver = lineup.program(programs.MIXED)
    setting.prove(sources.mixed(driver, 1, WORKING_SET, 1))
    epoch_s = min(EPOCH_S, max(0.05, seconds / len(setting.allocators) / WANTED_EPOCHS))
    setting.tell("long run: how long is an epoch")
    soak = soaks.measure(
        "single",
        driver,
        setting.allocators,
        epoch_s=epoch_s,
        duration_s=timer.left,
        working_set=WORKING_SET,
        seed=setting.seed + 1,
        cpu=setting.cpu,
        on_epoch=lambda done, name: setting.tell(f"long run: {name}, epoch {len(done.rows.get(name, []))}"),
    )
    take(long_run, soak, epoch_s)
    if soak.interrupted:
        raise KeyboardInterrupt
    fewest = min((len(row.throughput_ops_s) for row in long_run.rows), default=0)
    return f"the time was short: only {counted(fewest, 'epoch')}, drift is understated" if fewest < WANTED_EPOCHS else ""


def take(long_run: LongRun, soak: Soak, epoch_s: float) -> None:
    """The figures of what was measured."""
    long_run.epoch_s, long_run.iterations, long_run.working_set = epoch_s, soak.iterations, soak.working_set
    long_run.seconds, long_run.failures = soak.seconds, dict(soak.crashed)
    long_run.rows = [row_of(soak, name) for name in soak.names()]


def row_of(soak: Soak, name: str) -> LongRunRow:
    speeds = soak.throughput()
    figures, tail = soak.figures(name), EpochTail.of(speeds[name])
    return LongRunRow(
        name,
        speeds[name],
        soak.rss_mb()[name],
        [seconds / 60 for seconds in soak.ended_s[name]],
        figures.drift,
        soak.relative_drift(name),
        figures.cv,
        relative_cv(speeds, name),
        figures.rss_drift,
        tail.p99_to_p50,
        tail.cv,
    )


def relative_cv(speeds: Mapping[str, list[float]], name: str) -> float | None:
    """CV in per cent of the speed of `name` over the mean of the others in each epoch; None without others."""
    others = [values for other, values in speeds.items() if other != name]
    shared = min(map(len, speeds.values()))
    if not others or not shared:
        return None
    return Spread.of([speeds[name][i] / fmean(values[i] for values in others) for i in range(shared)]).cv
