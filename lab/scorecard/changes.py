"""What changed since the last stored scorecard of the same machine and subject.

Speed is compared through the ratio to the same peer, so that a slower hour of the machine is not a change; it counts
when both ratios have intervals that do not overlap, and the peer has kept its version. With many rows a few will
differ by chance: about one in a thousand or two, since two 95 % intervals must miss each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lab import store
from lab.model import Machine
from lab.scorecard.bars import bars
from lab.scorecard.card import Scorecard, load
from lab.scorecard.words import mb, percent

KIND = "scorecard"
MEMORY_SHARE, MEMORY_MB = 0.05, 0.25


@dataclass
class Change:
    """`better` is None when the change is neither good nor bad."""

    what: str
    before: str
    now: str
    better: bool | None


def last(path: Path, subject: str, machine: Machine) -> tuple[Scorecard, store.Record] | None:
    """The newest stored scorecard that can be compared with one of now; None without any."""
    here = store.Record.now(KIND, {}, {}, machine)
    for record in reversed(store.read(path, KIND)[0]):
        if record.same_place(here):
            try:
                card = load(Scorecard, record.data)
            except (TypeError, KeyError, AttributeError):
                continue
            if card.subject == subject:
                return card, record
    return None


def changes(before: Scorecard, now: Scorecard) -> list[Change]:
    """Bars that turned, speeds whose intervals no longer meet, peaks of memory that moved."""
    return [*_bars(before, now), *_speed(before, now), *_memory(before, now)]


def _bars(before: Scorecard, now: Scorecard) -> list[Change]:
    earlier = {bar.what.split(" over ")[0]: bar for bar in bars(before)}
    found = []
    for bar in bars(now):
        old = earlier.get(bar.what.split(" over ")[0])
        if old and None not in (old.met, bar.met) and old.met != bar.met:
            found.append(Change(f"bar: {bar.what} {bar.wanted}", old.measured, bar.measured, bar.met))
    return found


def _speed(before: Scorecard, now: Scorecard) -> list[Change]:
    versions = {each.name: each.version for each in before.allocators}
    same = {each.name for each in now.allocators if versions.get(each.name) == each.version}
    earlier = {(row.workload, entry.peer): entry for row in before.speed.rows for entry in row.against}
    found = []
    for row in now.speed.rows:
        for entry in row.against:
            old = earlier.get((row.workload, entry.peer))
            if not old or entry.peer not in same or not (old.told and entry.told):
                continue
            if entry.low > old.high or entry.high < old.low:
                what = f"{row.workload}: speed to {entry.peer}"
                found.append(Change(what, percent(old.ratio), percent(entry.ratio), entry.ratio > old.ratio))
    return found


def _memory(before: Scorecard, now: Scorecard) -> list[Change]:
    earlier = {row.workload: row.rss_mb for row in before.speed.rows if row.rss_mb}
    found = []
    for row in now.speed.rows:
        old = earlier.get(row.workload)
        if old and row.rss_mb and abs(row.rss_mb - old) > max(MEMORY_MB, MEMORY_SHARE * old):
            found.append(Change(f"{row.workload}: peak RSS", f"{mb(old)} MB", f"{mb(row.rss_mb)} MB", row.rss_mb < old))
    return found
