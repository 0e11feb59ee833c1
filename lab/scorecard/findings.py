"""Where the subject loses and where it wins, over all sections, by the same rules.

Speed: the interval against the best peer lies wholly below or above 100 %. Memory: the peak is more than 5 % and
0.25 MB above or below the least of the peers. Tail: more than 10 % and 1 ns slower or faster than the best peer, and
every run of the one lies above every run of the other (five runs do so by chance once in 126 times).
Start-up: the extra time's interval lies wholly above or below the best peer's. System calls, steadiness: the figures.
A figure that no peer has beside it is neither; nor is a difference that may be noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lab.scorecard.card import AHEAD, BEHIND, SECTIONS, Scorecard
from lab.scorecard.words import interval, mb, ns, percent, percentile, rate
from lab.statistics import FEWEST_BLOCKS

MEMORY_SHARE, MEMORY_MB = 0.05, 0.25
TAIL_SHARE, TAIL_NS = 0.10, 1.0
CV_MARGIN = 0.5


@dataclass
class Finding:
    """One figure beside the best peer's. `size` is how far away, as a ratio of at least 1, to sort by."""

    wins: bool
    section: str
    what: str
    ours: str
    best: str
    size: float


def findings(card: Scorecard) -> list[Finding]:
    """All of them: the largest first within a section, the sections in the contract's order."""
    order = list(SECTIONS)
    found = [*_speed(card), *_calls(card), *_memory(card), *_long_run(card), *_tail(card), *_startup(card)]
    return sorted(found, key=lambda finding: (order.index(finding.section), -finding.size))


def _speed(card: Scorecard) -> Iterator[Finding]:
    for row in card.speed.rows:
        what, best = f"{row.workload}: {row.question}", row.best
        if card.subject in row.failures:
            yield Finding(False, "speed", what, f"failed: {row.failures[card.subject]}", "-", float("inf"))
        if best and row.standing in (AHEAD, BEHIND):
            said = f"{percent(best.ratio)} [{interval(best.low, best.high)}]"
            yield Finding(row.standing == AHEAD, "speed", what, said, best.peer, max(best.ratio, 1 / best.ratio))


def _calls(card: Scorecard) -> Iterator[Finding]:
    counted = {row.name: row for row in card.calls.rows}
    mine = counted.pop(card.subject, None)
    if mine is None or not counted:
        return
    best = min(counted.values(), key=lambda row: row.first + row.after)
    ours, theirs = mine.first + mine.after, best.first + best.after
    if ours != theirs:
        said = [f"{calls} ({rate(calls / card.calls.operations)} per operation)" for calls in (ours, theirs)]
        size = max(ours, theirs) / max(1, min(ours, theirs))
        yield Finding(ours < theirs, "calls", "memory system calls, all kinds", said[0], f"{said[1]}, {best.name}", size)


def _memory(card: Scorecard) -> Iterator[Finding]:
    for row in card.speed.rows:
        if row.against:
            least = min(row.against, key=lambda entry: entry.rss_mb)
            yield from _peak(row.workload, row.rss_mb, least.rss_mb, least.peer)
    peers = [row for row in card.memory.rows if row.name != card.subject]
    if not peers:
        return
    least_row = min(peers, key=lambda row: row.peak_mb)
    for mine in card.memory.rows:
        if mine.name == card.subject:
            what = f"mixed, WS=400{f', profile {mine.profile}' if mine.profile else ''}"
            yield from _peak(what, mine.peak_mb, least_row.peak_mb, least_row.name)


def _peak(what: str, ours: float, least: float, peer: str) -> Iterator[Finding]:
    if abs(ours - least) > max(MEMORY_MB, MEMORY_SHARE * least) and min(ours, least) > 0:
        size = max(ours / least, least / ours)
        yield Finding(ours < least, "memory", f"peak RSS of {what}", f"{mb(ours)} MB", f"{mb(least)} MB, {peer}", size)


def _long_run(card: Scorecard) -> Iterator[Finding]:
    rows = {row.name: row for row in card.long_run.rows}
    mine = rows.pop(card.subject, None)
    if mine is None or not rows:
        return
    steadiest = min(rows.values(), key=lambda row: row.cv)
    if abs(mine.cv - steadiest.cv) > CV_MARGIN:
        what, size = "CV of epochs in the same run", max(mine.cv, steadiest.cv) / max(0.01, min(mine.cv, steadiest.cv))
        said = f"{steadiest.cv:.1f} %, {steadiest.name}"
        yield Finding(mine.cv < steadiest.cv, "long_run", what, f"{mine.cv:.1f} %", said, size)


def _tail(card: Scorecard) -> Iterator[Finding]:
    rows = {row.name: row for row in card.tail.rows}
    mine = rows.pop(card.subject, None)
    if mine is None or not rows:
        return
    for call in mine.ns:
        for place, value in enumerate(card.tail.percents):
            best = min(rows.values(), key=lambda row: row.ns[call][place])
            ours, theirs = mine.ns[call][place], best.ns[call][place]
            beyond = abs(ours - theirs) > max(TAIL_NS, TAIL_SHARE * theirs)
            if value < 100 and beyond and _apart(mine.runs[call], best.runs[call], place):
                size = max(ours, theirs) / max(0.1, min(ours, theirs))
                said = f"{ns(theirs)} ns, {best.name}"
                yield Finding(ours < theirs, "tail", f"{call}, {percentile(value)}", f"{ns(ours)} ns", said, size)


def _apart(ours: list[list[float]], theirs: list[list[float]], place: int) -> bool:
    """Whether the runs of the two do not overlap at a percentile. A single run says nothing."""
    mine, other = [run[place] for run in ours], [run[place] for run in theirs]
    return min(len(mine), len(other)) > 1 and (min(mine) > max(other) or max(mine) < min(other))


def _startup(card: Scorecard) -> Iterator[Finding]:
    rows = {row.name: row for row in card.startup.rows}
    mine = rows.pop(card.subject, None)
    peers = [row for row in rows.values() if row.name in {each.name for each in card.allocators if each.path}]
    if mine is None or not peers or card.startup.runs < FEWEST_BLOCKS:
        return
    best = min(peers, key=lambda row: row.extra_us)
    if mine.extra_high_us < best.extra_low_us or mine.extra_low_us > best.extra_high_us:
        said = f"{best.extra_us:+.0f} µs, {best.name}"
        wins, size = mine.extra_us < best.extra_us, (mine.cpu_us / best.cpu_us) if best.cpu_us else 1.0
        what = "start-up over glibc (of those that are preloaded)"
        yield Finding(wins, "startup", what, f"{mine.extra_us:+.0f} µs", said, max(size, 1 / size) if size else 1.0)


def failures(card: Scorecard) -> list[str]:
    """Every allocator that crashed somewhere, as sentences."""
    said = [f"{row.workload}: {name}: {why}" for row in card.speed.rows for name, why in row.failures.items()]
    for section in ("calls", "memory", "long_run", "tail", "startup"):
        failed: dict[str, str] = getattr(card, section).failures
        said += [f"{SECTIONS[section].lower()}: {name}: {why}" for name, why in failed.items()]
    return said


def counts(card: Scorecard) -> dict[str, int]:
    """How many workloads stand how against their best peer."""
    found: dict[str, int] = {}
    for row in card.speed.rows:
        found[row.standing] = found.get(row.standing, 0) + 1
    return found


