"""One page of `hakmem top`: what the memory of a process is, what changed since the last look, and how it came there.

Everything is read from outside: the heap as `hakmem explain` reads it, the rest from /proc/PID/stat (proc(5)).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.explain import identity, process, report
from lab.explain.account import CACHED, FREE, LIVE, ClassSum
from lab.explain.problems import no_process
from lab.explain.snapshot import Snapshot
from lab.progress import spoken_time
from lab.spoken import counted
from lab.tables import aligned

MIB = 1 << 20
HISTORY = 60  # looks that the curves show
BARS = "▁▂▃▄▅▆▇█"
# Of the fields behind the command's name: minor faults, threads, start in ticks after that of the system.
FAULTS, THREADS, STARTED = 7, 17, 19


@dataclass(frozen=True)
class Look:
    """What was found at one moment."""

    at_s: float  # of a clock that only goes forward
    took_s: float
    age_s: float
    cpu_s: float
    faults: int
    threads: int
    snapshot: Snapshot

    @property
    def live(self) -> float:
        """Bytes of live blocks that are resident."""
        return next(row.bytes for row in report.rows_of(self.snapshot) if row.key == "live")


ORDERS: dict[str, Callable[[ClassSum, int], float]] = {
    "live": lambda one, change: one.count[LIVE] * one.size,
    "change": lambda one, change: abs(change) * one.size,
    "waste": lambda one, change: one.waste,
}


def look(pid: int, take: Callable[[int], Snapshot]) -> Look:
    """Looks at the process once; `take` reads its heap."""
    began = time.monotonic()
    snapshot = take(pid)
    try:
        fields = process.stat(pid)
        up = float(Path("/proc/uptime").read_text().split()[0])
    except OSError:
        raise no_process(pid) from None
    ticks = os.sysconf("SC_CLK_TCK")
    now = time.monotonic()
    return Look(
        at_s=now,
        took_s=now - began,
        age_s=max(0.0, up - int(fields[STARTED]) / ticks),
        cpu_s=(int(fields[process.USER]) + int(fields[process.SYSTEM])) / ticks,
        faults=int(fields[FAULTS]),
        threads=int(fields[THREADS]),
        snapshot=snapshot,
    )


def lines(looks: Sequence[Look], top: int, order: str) -> list[str]:
    """The page after the last of the looks."""
    now, before = looks[-1], looks[-2] if len(looks) > 1 else None
    found = now.snapshot
    state = f"{spoken_time(now.age_s)} old, {counted(now.threads, 'thread')}, looked at in {now.took_s:.2f} s"
    if not found.exact:
        state += ", estimated (no pagemap)"
    page = [identity.process(found), f"{state}; {_rates(now, before)}" if before else state, ""]
    page += aligned(["", "MiB", "% of Rss", "change MiB"], _rows(now, before)) + [""]
    page += _curves(looks) + [""]
    return page + _classes(now, before, top, order)


def as_json(now: Look, before: Look | None) -> dict[str, Any]:
    """One look, for machines: what `hakmem explain --json` has, and how the process fares."""
    return {
        "time": time.time(),
        "age_s": round(now.age_s, 3),
        "cpu_s": now.cpu_s,
        "minor_faults": now.faults,
        "process_threads": now.threads,
        "cpu_percent": None if before is None else round(100 * _per_second(now, before, now.cpu_s - before.cpu_s), 2),
        "faults_per_s": None if before is None else round(_per_second(now, before, now.faults - before.faults), 2),
        **report.as_json(now.snapshot),
    }


def _per_second(now: Look, before: Look, change: float) -> float:
    return change / max(now.at_s - before.at_s, 1e-9)


def _rates(now: Look, before: Look) -> str:
    cpu = 100 * _per_second(now, before, now.cpu_s - before.cpu_s)
    return f"{cpu:.0f} % of a CPU, {_per_second(now, before, now.faults - before.faults):,.0f} page faults a second"


def _rows(now: Look, before: Look | None) -> list[list[str]]:
    old = {row.key: row.bytes for row in report.rows_of(before.snapshot)} if before else {}
    rss = now.snapshot.rss
    rows = [_cells(row.name, row.bytes, rss, old.get(row.key)) for row in report.rows_of(now.snapshot)]
    return [*rows, _cells("the kernel's Rss", rss, rss, before.snapshot.rss if before else None)]


def _cells(name: str, count: float, rss: int, old: float | None) -> list[str]:
    share = f"{100 * count / rss:.1f}" if rss else "-"
    return [name, f"{count / MIB:.1f}", share, "" if old is None else f"{(count - old) / MIB:+.1f}"]


def _curves(looks: Sequence[Look]) -> list[str]:
    rows = []
    for name, values in (("Rss", [float(one.snapshot.rss) for one in looks]), ("live", [one.live for one in looks])):
        rows.append(f"{name:<5}{curve(values)}  {min(values) / MIB:.1f} to {max(values) / MIB:.1f} MiB")
    return rows


def curve(values: Sequence[float]) -> str:
    """A bar for each value, from 0 to the largest."""
    most = max(values, default=0.0) or 1.0
    return "".join(BARS[min(len(BARS) - 1, int(value / most * len(BARS)))] for value in values)


def _classes(now: Look, before: Look | None, top: int, order: str) -> list[str]:
    classes = now.snapshot.classes
    old = before.snapshot.classes if before else classes
    # One by one: two classes may have blocks of the same size.
    used = [(one, one.count[LIVE] - was.count[LIVE]) for one, was in zip(classes, old, strict=True) if one.slabs]
    used = sorted(used, key=lambda pair: -ORDERS[order](*pair))[:top]
    if not used:
        return []
    titles = ["class (bytes)", "live", "change", "live MiB", "at hand", "free", "waste MiB"]
    rows = [
        [
            one.name,
            f"{one.count[LIVE]:,}",
            f"{change:+,}" if before else "",
            f"{one.count[LIVE] * one.size / MIB:.2f}",
            f"{one.count[CACHED]:,}",
            f"{one.count[FREE]:,}",
            f"{one.waste / MIB:.2f}",
        ]
        for one, change in used
    ]
    return aligned(titles, rows)
