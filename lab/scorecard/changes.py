"""What changed since the last stored scorecards of the same machine and subject.

Every figure is compared with the newest card that has it: a card of one section, or one that Ctrl-C ended, hides nothing
of the whole one before it. Speed is compared through the ratio to the same peer, so that a slower hour of the machine is
not a change; it counts when both ratios have intervals that do not overlap, and the peer has kept its version. With many
rows a few will differ by chance: about one in a thousand or two, since two 95 % intervals must miss each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from lab import store
from lab.model import Machine
from lab.scorecard.bars import bars
from lab.scorecard.card import SECTIONS, Calls, LongRun, Memory, Scorecard, Speed, SpeedRow, Startup, StartupRow, load
from lab.scorecard.words import mb, percent
from lab.spoken import counted
from lab.statistics import FEWEST_BLOCKS
from lab.steadiness import WANTED_EPOCHS

KIND = "scorecard"
MEMORY_SHARE, MEMORY_MB = 0.05, 0.25
Figures = set[tuple[str, ...]]


@dataclass
class Change:
    """`better` is None when the change is neither good nor bad."""

    what: str
    before: str
    now: str
    better: bool | None


@dataclass
class Earlier:
    """A stored card, in words; which figures were compared with it, and which of them changed."""

    card: str
    compared: str
    changes: list[Change]


def earlier(path: Path, now: Scorecard) -> tuple[list[Earlier], str]:
    """(the stored cards that `now` is compared with, the newest first; a sentence on what none of them has, or nothing)."""
    left, found = figures(now), []
    nothing = "No earlier scorecard of this machine is stored."
    for card, record in stored(path, now.subject, now.machine):
        nothing = "Nothing in common with the earlier scorecards of this machine that could be compared."
        both = left & figures(card)
        if both:
            said = f"{record.date.replace('T', ' ')[:16]} UTC, commit {record.commit or 'unknown'}"
            found.append(Earlier(said, _spoken(both), changes(only(card, both), only(now, both))))
            left -= both
    if not found:
        return [], nothing
    lacking = [SECTIONS[name].lower() for name in SECTIONS if name in _sections(left) - _sections(figures(now) - left)]
    return found, f"In no earlier scorecard of this machine: {', '.join(lacking)}." if lacking else ""


def stored(path: Path, subject: str, machine: Machine) -> Iterator[tuple[Scorecard, store.Record]]:
    """The stored scorecards that can be compared with one of now, the newest first."""
    here = store.Record.now(KIND, {}, {}, machine)
    for record in reversed(store.read(path, KIND)[0]):
        if record.same_place(here):
            try:
                card = load(Scorecard, record.data)
            except (TypeError, KeyError, AttributeError):
                continue
            if card.subject == subject:
                yield card, record


def figures(card: Scorecard) -> Figures:
    """What of a card can be compared, by the section and what must be the same: not what was too short to judge."""
    versions = {each.name: each.version for each in card.allocators}
    found = {
        ("speed", row.workload, entry.peer, versions.get(entry.peer, ""))
        for row in card.speed.rows
        for entry in row.against
        if entry.told
    }
    found |= {("peak", row.workload) for row in card.speed.rows if row.rss_mb}
    ours = {name: [row for row in getattr(card, name).rows if row.name == card.subject] for name in SECTIONS if name != "speed"}
    found |= {("calls", str(card.calls.operations)) for _ in ours["calls"]} | {("memory",) for _ in ours["memory"]}
    found |= {("long_run",) for row in ours["long_run"] if len(row.throughput_ops_s) >= WANTED_EPOCHS}
    return found | {("startup",) for row in ours["startup"] if _over_reference(card, row) and card.startup.runs >= FEWEST_BLOCKS}


def only(card: Scorecard, chosen: Figures) -> Scorecard:
    """The card with no other figures."""
    sections = _sections(chosen)
    speeds, peaks = ({key[1:3] for key in chosen if key[0] == kind} for kind in ("speed", "peak"))

    def cut(row: SpeedRow) -> SpeedRow:
        against = [entry for entry in row.against if (row.workload, entry.peer) in speeds]
        return replace(row, against=against, rss_mb=row.rss_mb if (row.workload,) in peaks else 0.0)

    return replace(
        card,
        speed=Speed([cut(row) for row in card.speed.rows]),
        calls=card.calls if "calls" in sections else Calls(),
        memory=card.memory if "memory" in sections else Memory(),
        long_run=card.long_run if "long_run" in sections else LongRun(),
        startup=card.startup if "startup" in sections else Startup(),
    )


def _sections(found: Figures) -> set[str]:
    return {"speed" if key[0] == "peak" else key[0] for key in found}


def _spoken(found: Figures) -> str:
    """Which figures, for people."""
    words = []
    for kind, what in (("speed", "speed"), ("peak", "peak memory")):
        workloads = {key[1] for key in found if key[0] == kind}
        if workloads:
            words.append(f"{what} on {counted(len(workloads), 'workload')}")
    words += [SECTIONS[name].lower() for name in SECTIONS if name != "speed" and name in _sections(found)]
    return ", ".join(words)


def changes(before: Scorecard, now: Scorecard) -> list[Change]:
    """Bars that turned, speeds and starts whose intervals no longer meet, peaks of memory that moved."""
    return [*_bars(before, now), *_speed(before, now), *_memory(before, now), *_startup(before, now)]


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


def _startup(before: Scorecard, now: Scorecard) -> list[Change]:
    """Over the reference's own start in the same rounds, in which a slower hour cancels."""
    then, here = (next((row for row in card.startup.rows if row.name == now.subject), None) for card in (before, now))
    old, new = (_over_reference(card, row) if row else None for card, row in ((before, then), (now, here)))
    if not old or not new or (new[0] <= old[2] and new[2] >= old[0]):
        return []
    return [Change("start-up over glibc, of glibc's own", percent(old[1]), percent(new[1]), new[1] < old[1])]


def _over_reference(card: Scorecard, row: StartupRow) -> tuple[float, float, float] | None:
    """(low, middle, high) of what a start costs more than glibc's, as parts of that; None where glibc was not measured."""
    glibc = next((each.name for each in card.allocators if each.path is None), "glibc")
    own = next((each.cpu_us for each in card.startup.rows if each.name == glibc and each.cpu_us), None)
    return (row.extra_low_us / own, row.extra_us / own, row.extra_high_us / own) if own else None
