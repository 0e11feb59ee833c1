"""The answer as a table and as JSON."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

from lab.explain import identity
from lab.explain.account import CACHED, FREE, LIVE, ClassSum
from lab.explain.others import KINDS
from lab.explain.snapshot import Snapshot
from lab.tables import aligned

MIB = 1 << 20
TOP = 10
OFF = 0.02  # of Rss: a sum that is off by more is said to be

# key, what it is called, and its parts: key of the sum and words
ROWS: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = (
    (
        "live",
        "live blocks",
        (("live_small", "small blocks"), ("live_runs", "large blocks in superslabs"), ("live_mappings", "mappings")),
    ),
    (
        "internal",
        "internal waste",
        (
            ("tails", "tails of slabs"),
            ("page_rests", "rests of pages that are in use"),
            ("slack", "slack of large blocks"),
        ),
    ),
    (
        "free",
        "free blocks in slabs",
        (("free_in_use", "in slabs with live blocks"), ("free_in_empty", "in empty slabs that are kept")),
    ),
    (
        "threads",
        "thread caches",
        (("at_hand", "magazines, spares, outboxes"), ("inboxes", "freed by others, not yet collected")),
    ),
    (
        "going_home",
        "waiting to go home",
        (
            ("dirty_units", "free units"),
            ("lazy_units", "given back lazily, not yet taken"),
            ("waiting_large", "large blocks kept for the next request"),
            ("on_the_way", "on the way between two owners, or at hand for slabs"),
        ),
    ),
    ("own", "own records", (("records", "slabs, heaps, magazines, maps"), ("library", "the library and its tables"))),
    (
        "huge",
        "huge-page excess",
        (("fresh", "blocks never handed out"), ("clean_units", "units never handed out")),
    ),
    ("others", "not ours", tuple(KINDS.items())),
)


@dataclass(frozen=True)
class Row:
    """A category with its parts, in bytes."""

    key: str
    name: str
    bytes: float
    parts: list[tuple[str, str, float]]


def rows_of(snapshot: Snapshot) -> list[Row]:
    """All categories, in the order of the table."""
    rows = []
    for key, name, words in ROWS:
        sums = snapshot.others if key == "others" else snapshot.sums
        parts = [(part, said, float(sums[part])) for part, said in words]
        rows.append(Row(key, name, sum(part[2] for part in parts), parts))
    return rows


def lines(snapshot: Snapshot, top: int = TOP) -> list[str]:
    """The page for a person."""
    body = [[*_cells(row.name, row.bytes, snapshot.rss)] for row in rows_of(snapshot)]
    for at, row in reversed(list(enumerate(rows_of(snapshot)))):
        shown = [part for part in row.parts if round(part[2])]
        if len(shown) > 1 or (shown and shown[0][2] and len(row.parts) > 1):
            body[at + 1 : at + 1] = [_cells(f"  {said}", count, snapshot.rss) for _, said, count in shown]
    body.append(_cells("sum", snapshot.total, snapshot.rss))
    body.append(_cells("the kernel's Rss", snapshot.rss, snapshot.rss))
    page = [identity.line(snapshot), "", *aligned(["", "bytes", "MiB", "% of Rss"], body), ""]
    return [*page, *_notes(snapshot), *_class_lines(snapshot, top)]


def as_json(snapshot: Snapshot) -> dict[str, Any]:
    """All of it, for machines."""
    return {
        **identity.as_json(snapshot),
        "exact": snapshot.exact,
        "rss_bytes": snapshot.rss,
        "sum_bytes": round(snapshot.total),
        "difference_percent": 100 * snapshot.difference,
        "moved_bytes": snapshot.moved,
        "huge_page_bytes": snapshot.huge,
        "threads": snapshot.threads,
        "torn_records": snapshot.torn,
        "rounding_at_most_bytes": rounding_at_most(snapshot.classes),
        "rows": [
            {
                "key": row.key,
                "name": row.name,
                "bytes": round(row.bytes),
                "percent": _percent(row.bytes, snapshot.rss),
                "parts": [{"key": key, "name": name, "bytes": round(count)} for key, name, count in row.parts],
            }
            for row in rows_of(snapshot)
        ],
        "classes": [_class_json(one) for one in snapshot.classes if one.slabs],
    }


def rounding_at_most(classes: list[ClassSum]) -> int:
    """What live small blocks could waste by rounding up: each asked for one byte more than the class below.

    Without what alignment adds: a block of a class for it may have been asked for with any size.
    """
    usual = [0, *(one.size for one in classes if not one.aligned)]
    return sum(one.count[LIVE] * (one.size - usual[bisect_left(usual, one.size) - 1] - 1) for one in classes)


def _notes(snapshot: Snapshot) -> list[str]:
    notes = []
    if not snapshot.exact:
        notes.append("estimated: without /proc/PID/pagemap each mapping's Rss is spread over what was used of it")
    if abs(snapshot.difference) > OFF:
        notes.append("the sum is off by more than 2 %: the process changed while it was read; try --stop")
    elif snapshot.doubt > OFF:
        notes.append(f"{snapshot.moved / MIB:.1f} MiB came or went while the process was read, and may count as another's; try --stop")
    if snapshot.torn:
        notes.append(identity.left_out(snapshot.torn))
    if not any(row.bytes for row in rows_of(snapshot)[:5]):
        notes.append(
            "hakmem holds no block: the program has none, or another allocator serves it "
            "(HAKMEM_FORCE_LIBC_ALLOC, a preload)"
        )
    rounding = rounding_at_most(snapshot.classes) / MIB
    notes.append(f"Rounding up inside live blocks is not recorded and counts as live: at most {rounding:.1f} MiB, and what alignment adds.")
    if snapshot.huge:
        notes.append(f"{snapshot.huge / MIB:.1f} MiB of anonymous memory are in huge pages.")
    return notes


def _class_lines(snapshot: Snapshot, top: int) -> list[str]:
    used = sorted((one for one in snapshot.classes if one.slabs and one.waste), key=lambda one: -one.waste)[:top]
    if not used:
        return []
    titles = ["class (bytes)", "slabs", "blocks", "carved", "live", "cached", "free", "waste MiB", "% of its Rss"]
    rows = [
        [
            one.name,
            *(f"{count:,}" for count in (one.slabs, one.blocks, one.carved, *one.count[LIVE : FREE + 1])),
            f"{one.waste / MIB:.2f}",
            f"{_percent(one.waste, sum(one.resident) + one.tail):.1f}",
        ]
        for one in used
    ]
    which = "size class" if len(used) == 1 else f"{len(used)} size classes"
    title = f"The {which} with the most waste (resident bytes that are no live block's):"
    return ["", title, *aligned(titles, rows)]


def _class_json(one: ClassSum) -> dict[str, Any]:
    return {
        "size": one.size,
        "aligned": one.aligned,
        "slabs": one.slabs,
        "blocks": one.blocks,
        "carved": one.carved,
        "live": one.count[LIVE],
        "cached": one.count[CACHED],
        "free": one.count[FREE],
        "resident_bytes": round(sum(one.resident) + one.tail),
        "live_resident_bytes": round(one.resident[LIVE]),
        "waste_bytes": round(one.waste),
    }


def _cells(name: str, count: float, rss: int) -> list[str]:
    return [name, f"{count:,.0f}", f"{count / MIB:.1f}", f"{_percent(count, rss):.1f}"]


def _percent(count: float, whole: float) -> float:
    return 100 * count / whole if whole else 0.0
