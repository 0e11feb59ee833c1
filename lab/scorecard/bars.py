"""The contract's bars: what was measured, what is wanted, whether it is met. Without a figure a bar is neither."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median

from scipy import stats

from lab.progress import spoken_time
from lab.scorecard.calls import OPERATIONS
from lab.scorecard.card import FEW, CallsRow, LongRunRow, Scorecard
from lab.scorecard.speed import OFFICIAL, OFFICIAL_FAMILY
from lab.scorecard.words import mb, percent, rate
from lab.spoken import counted, signed
from lab.steadiness import WANTED_EPOCHS

MILESTONES = {"M1": 0.50, "M2": 0.55, "M3": 0.60, "M4": 0.65}
CALLS_BAR, CALLS_AIM = 1e-7, 1e-8
SPEED_MB, LEAN_MB, AIM_MB = 35.0, 10.0, 2.5
RSS_DRIFT = 5.0
DRIFT = -5.0
DRIFT_WANTED = "> -5 % over 30 to 60 min"
CV = 2.0
P99_TO_P50 = 1.05
LATENCY_CV = 3.0


@dataclass
class Bar:
    """`met` is None when there is no figure, too `few` of them, or the machine was too `noisy`. `aim`: where we want to get to beyond the bar."""

    section: str
    what: str
    measured: str
    wanted: str
    met: bool | None
    aim: str = ""
    aim_met: bool | None = None
    noisy: bool = False
    few: bool = False

    def of_too_few(self) -> Bar:
        """The same, not judged: it would be met by as little as one look."""
        return replace(self, met=None, aim_met=None, noisy=False, few=True)


def bars(card: Scorecard) -> list[Bar]:
    """Every bar of the contract, in its order."""
    return [*_speed(card), *_calls(card), *_memory(card), *_long_run(card), *_tail(card)]


def missed(card: Scorecard) -> list[Bar]:
    return [bar for bar in bars(card) if bar.met is False]


def milestone(ratio: float) -> str:
    """The highest of the contract's milestones that a ratio to mimalloc reaches."""
    reached = [name for name, wanted in MILESTONES.items() if ratio >= wanted]
    return reached[-1] if reached else "none"


def _speed(card: Scorecard) -> list[Bar]:
    row = next((row for row in card.speed.rows if row.workload == OFFICIAL), None)
    found = []
    for name in card.family(OFFICIAL_FAMILY) or [OFFICIAL_FAMILY]:
        against = row.to(name) if row else None
        what = f"mixed workload, WS=400: speed to {name}"
        if against is None:
            found.append(Bar("speed", what, "-", "100 %", None))
            continue
        said = f"{percent(against.ratio)}, milestone {milestone(against.ratio)}"
        bar = Bar("speed", what, said, "100 %", against.ratio >= 1)
        found.append(bar.of_too_few() if against.standing == FEW else bar)
    best = row.best if row else None
    what = f"mixed workload, WS=400: speed to the best peer{f' ({best.peer})' if best else ''}"
    said, ahead = (percent(best.ratio), best.low > 1) if best else ("-", None)
    bar = Bar("speed", what, said, "-", None, "ahead of every peer", ahead)
    return [*found, bar.of_too_few() if best and best.standing == FEW else bar]


def _calls(card: Scorecard) -> list[Bar]:
    row = next((row for row in card.calls.rows if row.name == card.subject), None)
    what = "mmap + munmap + madvise per operation"
    aim = "<= 1e-8, none after warm-up"
    if row is None or not card.calls.operations:
        return [Bar("calls", what, "-", "<= 1e-7", None, aim)]
    each = row.bar_calls / card.calls.operations
    said = f"{rate(each)} ({row.bar_calls} in {card.calls.operations:,}), {row.after} after warm-up"
    if card.calls.operations < OPERATIONS:
        missed, aim_missed = (_at_least(row, card.calls.operations) > limit for limit in (CALLS_BAR, CALLS_AIM))
        return [Bar("calls", what, said, "<= 1e-7", False if missed else None, aim, False if aim_missed else None, few=not missed)]
    return [Bar("calls", what, said, "<= 1e-7", each <= CALLS_BAR, aim, each <= CALLS_AIM and row.after == 0)]


def _at_least(row: CallsRow, operations: int) -> float:
    """Calls an operation that a run of the contract's length would have at least, by what a shorter one had.

    Those that were made, at first above all, are made once however long it is. Those to come have the lower end of the
    exact interval of a Poisson rate, from the calls that cannot have been in the first 1 %.
    """
    later = max(0, row.bar_calls - row.first)
    fewest = float(stats.chi2.ppf(0.025, 2 * later)) / 2 if later else 0.0
    return (row.bar_calls + fewest * (OPERATIONS - operations) / operations) / OPERATIONS


def _memory(card: Scorecard) -> list[Bar]:
    by_profile = {row.profile: row for row in card.memory.rows if row.name == card.subject and row.profile}
    found = []
    for profile, limit in (("speed", SPEED_MB), ("balanced", None), ("lean", LEAN_MB)):
        row = by_profile.get(profile)
        said, peak = (f"{mb(row.largest_peak_mb)} MB", row.largest_peak_mb) if row else ("-", None)
        wanted = f"< {limit:g} MB" if limit else "-"
        met = peak < limit if peak is not None and limit else None
        aim_met = None if peak is None else peak <= AIM_MB
        found.append(Bar("memory", f"RSS at WS=400, profile {profile}", said, wanted, met, f"<= {AIM_MB:g} MB", aim_met))
    soak = next((row for row in card.long_run.rows if row.name == card.subject), None)
    over = f" over {spoken_time(card.long_run.seconds)}" if soak else ""
    said, drift = (f"{soak.rss_drift:+.1f} %", soak.rss_drift) if soak else ("-", None)
    met = None if drift is None else drift < RSS_DRIFT
    aim_met = None if drift is None else drift <= 0
    bar = Bar("memory", f"RSS drift{over}", said, "< +5 % over 5, 30 and 60 min", met, "0", aim_met)
    return [*found, bar.of_too_few() if soak and _is_short(soak) else bar]


def _is_short(row: LongRunRow) -> bool:
    return len(row.throughput_ops_s) < WANTED_EPOCHS


def _long_run(card: Scorecard) -> list[Bar]:
    rows = card.long_run.rows
    mine = next((row for row in rows if row.name == card.subject), None)
    if mine is None:
        return [
            Bar("long_run", "throughput drift", "-", DRIFT_WANTED, None),
            Bar("long_run", "CV of epochs", "-", "<= 2 %", None, "the steadiest of all"),
        ]
    over = f"over {spoken_time(card.long_run.seconds)}, {counted(len(mine.throughput_ops_s), 'epoch')}"
    beside = "" if mine.relative_drift is None else f" (against the others {signed(mine.relative_drift, 1)} %)"
    drift, cv = f"{signed(mine.drift, 1)} %{beside}", f"{mine.cv:.1f} %"
    steadiest = mine is min(rows, key=lambda row: row.cv) if len(rows) > 1 else None
    return [
        _of_epochs("long_run", f"throughput drift {over}", drift, DRIFT_WANTED, rows, mine, lambda row: DRIFT - row.drift),
        _of_epochs("long_run", "CV of epochs", cv, "<= 2 %", rows, mine, lambda row: row.cv - CV, "the steadiest of all", steadiest),
    ]


def _of_epochs(
    section: str,
    what: str,
    said: str,
    wanted: str,
    rows: list[LongRunRow],
    mine: LongRunRow,
    beyond: Callable[[LongRunRow], float],
    aim: str = "",
    aim_met: bool | None = None,
) -> Bar:
    """A bar on what an allocator's epochs say; `beyond` is by how much a row misses it, 0 or less when it meets it.

    Too noisy to tell: no allocator of the same run meets it, and ours misses it by no more than the median of the others.
    """
    others = [beyond(row) for row in rows if row is not mine]
    noisy = bool(others) and 0 < beyond(mine) <= median(others) and min(others) > 0
    bar = Bar(section, what, said, wanted, None if noisy else beyond(mine) <= 0, aim, aim_met, noisy)
    return bar.of_too_few() if _is_short(mine) else bar


def _tail(card: Scorecard) -> list[Bar]:
    rows = card.long_run.rows
    mine = next((row for row in rows if row.name == card.subject), None)
    if mine is None:
        found = [
            Bar("tail", "p99/p50 of epochs", "-", "< 1.05", None),
            Bar("tail", "stddev/mean of epochs", "-", "< 3 %", None),
        ]
    else:
        ratio, spread = f"{mine.p99_to_p50:.3f}", f"{mine.latency_cv:.1f} %"
        found = [
            _of_epochs("tail", "p99/p50 of epochs", ratio, "< 1.05", rows, mine, lambda row: row.p99_to_p50 - P99_TO_P50),
            _of_epochs("tail", "stddev/mean of epochs", spread, "< 3 %", rows, mine, lambda row: row.latency_cv - LATENCY_CV),
        ]
    return [*found, _calls_tail(card)]


def _calls_tail(card: Scorecard) -> Bar:
    """The aim "best of all peers at every percentile"; the slowest call of all is not a percentile."""
    rows = {row.name: row for row in card.tail.rows}
    mine = rows.get(card.subject)
    what, aim = "percentiles of single calls, p50 to p99.99", "best at every one"
    if mine is None or len(rows) < 2:
        return Bar("tail", what, "-", "-", None, aim)
    places = [(call, i) for call in mine.ns for i, value in enumerate(card.tail.percents) if value < 100]
    best = sum(mine.ns[call][i] <= min(row.ns[call][i] for row in rows.values()) for call, i in places)
    return Bar("tail", what, f"best at {best} of {len(places)}", "-", None, aim, best == len(places))
