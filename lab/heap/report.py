"""The answer as a table and as JSON."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from lab.explain import identity
from lab.heap.estimate import Estimate
from lab.heap.profile import Profile, Stack
from lab.spoken import counted

MIB = 1 << 20
UNBOUNDED = 1 << 16  # columns: a width that nothing is cut to
TOP = 10
OUTER_SHOWN, INNER_SHOWN = 8, 16  # functions of a call path
# What a table is sorted by, and shows: key, the estimate of a stack, how it is called.
ORDERS: dict[str, tuple[Callable[[Stack], Estimate], str]] = {
    "live": (lambda stack: stack.live, "live"),
    "allocated": (lambda stack: stack.allocated, "allocated since the start"),
}
HEADINGS = ("flat", "%", "±%", "cum", "%", "±%", "blocks", "samples")
# The columns, by their places above, that are left out one group after the other where names have less room than this.
LEFT_OUT, NAME_WIDTH = ((2, 5), (7,), (4,), (6,), (1,), (3,)), 32


@dataclass(frozen=True)
class Row:
    """A function: what it allocated itself, and what it or what it called allocated."""

    name: str
    flat: Estimate
    cumulative: Estimate


@dataclass(frozen=True)
class Path:
    """A call path, outermost first, whatever the sizes of its blocks."""

    names: tuple[str, ...]
    of: Estimate


def rows_of(profile: Profile, order: str = "live") -> list[Row]:
    """All functions with something in them, the largest first."""
    value = ORDERS[order][0]
    flat: dict[str, Estimate] = defaultdict(Estimate)
    cumulative: dict[str, Estimate] = defaultdict(Estimate)
    for stack in profile.stacks:
        of, names = value(stack), stack.names
        flat[names[-1]] += of
        for name in set(names):  # one that calls itself counts once
            cumulative[name] += of
    rows = [Row(name, flat[name], total) for name, total in cumulative.items() if total.samples]
    return sorted(rows, key=lambda row: (-row.flat.bytes, -row.cumulative.bytes, row.name))


def paths_of(profile: Profile, order: str = "live") -> list[Path]:
    """All call paths with something in them, the largest first."""
    value = ORDERS[order][0]
    found: dict[tuple[str, ...], Estimate] = defaultdict(Estimate)
    for stack in profile.stacks:
        found[stack.names] += value(stack)
    paths = [Path(names, of) for names, of in found.items() if of.samples]
    return sorted(paths, key=lambda path: (-path.of.bytes, path.names))


def lines(profile: Profile, top: int = TOP, order: str = "live", width: int = 150) -> list[str]:
    """The page for a person, so many columns wide."""
    out = io.StringIO()
    Console(file=out, width=width, highlight=False).print(_page(profile, top, order, width))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def _page(profile: Profile, top: int, order: str, width: int) -> Group:
    parts: list[Any] = [*map(Text, _head(profile)), *map(Text, _notes(profile))]
    rows, paths = rows_of(profile, order)[:top], paths_of(profile, order)[:top]
    if rows:
        said = ORDERS[order][1]
        parts += [Text(f"\nFunctions with the most bytes {said}:"), _table(profile, rows, order, width)]
        parts += [Text(f"Call paths with the most bytes {said}:")]
        total = total_of(profile, order)
        parts += [part for path in paths for part in _path(path, total)]
    return Group(*parts)


def as_json(profile: Profile) -> dict[str, Any]:
    """All of it, for machines."""
    return {
        **identity.as_json(profile),
        "time_ns": profile.time_ns,
        "bytes_between_samples": profile.rate,
        "lost_samples": profile.lost,
        "torn_records": profile.torn,
        "live": _numbers(profile.live),
        "allocated": _numbers(profile.allocated),
        "functions": {
            order: [
                {"name": row.name, "flat": _numbers(row.flat), "cumulative": _numbers(row.cumulative)}
                for row in rows_of(profile, order)
            ]
            for order in ORDERS
        },
        "stacks": [
            {
                "frames": [
                    {"name": frame.label, "file": frame.image, "address": frame.address, "address_in_file": frame.at}
                    for frame in stack.frames
                ],
                "bytes_each": stack.bytes_each,
                "live": _numbers(stack.live),
                "allocated": _numbers(stack.allocated),
            }
            for stack in profile.stacks
        ],
    }


def total_of(profile: Profile, order: str) -> Estimate:
    """All of what a table is about."""
    return profile.live if order == "live" else profile.allocated


def spoken(of: Estimate, exact: bool) -> str:
    """An estimate as a person reads it."""
    error = "" if exact or not of.samples else f" ±{100 * of.error:.1f} %"
    return f"{size(of.bytes)}{error} in {_blocks(of)}"


def size(count: float) -> str:
    """Bytes as a person reads them: 304 B, 68.4 KiB, 12.1 MiB; never in more digits than these."""
    for unit, name in ((MIB, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:,.1f} {name}"
    return f"{count:.0f} B"


def _blocks(of: Estimate) -> str:
    return counted(round(of.blocks), "block")


def spoken_rate(rate: int) -> str:
    """How samples are taken."""
    if rate == 1:
        return "every allocation"
    return f"one sample each {size(rate)} on average"


def _head(profile: Profile) -> Iterable[str]:
    yield identity.line(profile)
    live, taken, exact = profile.live, profile.allocated, profile.rate == 1
    yield f"{spoken_rate(profile.rate)}: {counted(taken.samples, 'sample')}, {live.samples:,} of them live, {profile.lost:,} lost"
    if taken.samples:
        yield f"live: {spoken(live, exact)}; allocated since the start: {spoken(taken, exact)}"


def _notes(profile: Profile) -> Iterable[str]:
    if profile.lost:
        yield "lost samples are missing in every figure: there was no memory or no room for them"
    if profile.torn:
        yield identity.left_out(profile.torn)
    if not profile.allocated.samples:
        yield "no samples yet: the program has allocated less than what lies between two, or nothing since it began"
    elif profile.rate > 1:
        yield "± is the relative standard error of an estimate: two of three lie within it, 19 of 20 within twice as much"


def _table(profile: Profile, rows: list[Row], order: str, width: int) -> Table:
    """As many columns as leave room for the names."""
    total = total_of(profile, order).bytes
    exact = profile.rate == 1
    lines = []
    for row in rows:
        cells = [*_cells(row.flat, total, exact), *_cells(row.cumulative, total, exact)]
        lines.append([*cells, f"{row.flat.blocks:,.0f}", f"{row.flat.samples:,}", row.name])
    places = list(range(len(HEADINGS)))
    table = _of_columns(places, lines)
    for group in LEFT_OUT:
        if Console(width=UNBOUNDED).measure(table).minimum <= width:
            break
        places = [place for place in places if place not in group]
        table = _of_columns(places, lines)
    table.columns[-1].min_width = None  # names that have less room all the same go on in the next line
    return table


def _of_columns(places: list[int], lines: list[list[str]]) -> Table:
    """The table with the headings at these places; only names may go on in the next line."""
    table = Table(box=box.SIMPLE_HEAD)
    for place in places:
        needed = max(len(HEADINGS[place]), *(len(line[place]) for line in lines))
        table.add_column(HEADINGS[place], justify="right", no_wrap=True, min_width=needed)
    longest = max(cell_len(line[-1]) for line in lines)
    table.add_column("function", overflow="fold", min_width=min(longest, NAME_WIDTH))
    for line in lines:
        table.add_row(*map(Text, [*(line[place] for place in places), line[-1]]))
    return table


def _cells(of: Estimate, total: float, exact: bool) -> list[str]:
    error = "" if exact or not of.samples else f"{100 * of.error:.1f}"
    return [size(of.bytes), f"{_percent(of.bytes, total):.1f}", error]


def _path(path: Path, total: Estimate) -> Iterable[Any]:
    error = f" ±{100 * path.of.error:.1f} %" if path.of.variance else ""
    each = path.of.bytes / path.of.blocks if path.of.blocks else 0.0
    share = _percent(path.of.bytes, total.bytes)
    head = f"{size(path.of.bytes)}{error} ({share:.1f} %), {_blocks(path.of)} of {each:,.0f} bytes"
    yield Padding(Text(head), (0, 0, 0, 2), expand=False)
    yield Padding(Text(" > ".join(_shortened(path.names))), (0, 0, 0, 6), expand=False)


def _shortened(names: tuple[str, ...]) -> list[str]:
    """Without the middle of a path that is very long."""
    more = len(names) - OUTER_SHOWN - INNER_SHOWN
    if more <= 1:
        return list(names)
    return [*names[:OUTER_SHOWN], f"... {more} more ...", *names[-INNER_SHOWN:]]


def _numbers(of: Estimate) -> dict[str, Any]:
    return {
        "bytes": round(of.bytes),
        "blocks": round(of.blocks),
        "samples": of.samples,
        "relative_error": round(of.error, 6),
    }


def _percent(count: float, whole: float) -> float:
    return 100 * count / whole if whole else 0.0
