"""The tables of `hakmem bench`: one for each workload, one that sums up, one of geometric means.

A speed ratio is always the reference's speed over another's, in every table: above 1.00 the reference is faster, whatever
the workload's unit. Losses stand where wins stand and in the same words. Text only: figures come from lab/campaign.py.
"""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from lab.campaign import Campaign, Result, geometric_mean, standing
from lab.experiment import KINDS
from lab.spoken import counted
from lab.statistics import Interval

PIPE_WIDTH = 150
TABLE_WIDTH = 110  # of the widest table of figures
RATIO = "speed [95 %]"
METRICS = {
    "cpu": "user and system time",
    "throughput": "throughput by the wall clock",
    "wall": "wall time",
    "instructions": "instructions",
}
STOPS = {
    "precision": "the intervals are narrow enough",
    "pairs": "all blocks done",
    "budget": "the time was up",
    "interrupted": "interrupted",
}


def console(to_stderr: bool = False) -> Console:
    """Rich's console; in a pipe as wide as the tables need. A narrow terminal folds lines, where Rich would cut figures off."""
    made = Console(stderr=to_stderr, highlight=False)
    wide = made.width if made.is_terminal else PIPE_WIDTH
    return Console(stderr=to_stderr, highlight=False, width=max(wide, TABLE_WIDTH))


def spoken_value(value: float, unit: str) -> str:
    """A speed or a time for people: 22.4 M ops/s, 0.312 s."""
    if unit == "s":
        return f"{value:.3f} s"
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.3g} {letter} {unit}"
    return f"{value:.3g} {unit}"


def spoken_ratio(interval: Interval) -> str:
    """The ratio with its 95 % interval; without one where there are too few blocks for any."""
    return f"{interval.median:.3f} {interval.ends('{:.3f}'.format)}"


def _mb(kb: float) -> str:
    return f"{kb / 1024:.1f}" if kb < 100 * 1024 else f"{kb / 1024:.0f}"


def _titled(title: str, table: Table) -> Group:
    """Not as the table's own title, which would be broken at the table's width."""
    return Group(Text(title), table)


def _heading(words: str) -> Text:
    """One that is not broken into lines; as all cells, it is no markup (brackets would be)."""
    return Text(words.replace(" ", "\N{NO-BREAK SPACE}"))


def _add(table: Table, *cells: str) -> None:
    table.add_row(*map(Text, cells))


def as_text(shown: Group, width: int) -> str:
    """As plain lines, without the last newline."""
    out = io.StringIO()
    Console(file=out, width=width).print(shown)
    return out.getvalue().rstrip("\n")


def _table(left: Sequence[str], right: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for heading in left:
        table.add_column(_heading(heading), no_wrap=True)
    for heading in right:
        table.add_column(_heading(heading), justify="right", no_wrap=True)
    return table


def listing() -> Table:
    """The empty table of what can be measured."""
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("group", "workload", "threads", "question", "after"):
        table.add_column(heading)
    return table


def workload_table(result: Result, reference: str) -> Group:
    """Every allocator on one workload; the fastest first."""
    comparison = result.comparison
    workload = result.workload
    title = f"{workload.name}: {workload.question}"
    if comparison and comparison.blocks:
        stop = STOPS.get(comparison.stopped, comparison.stopped)
        count = counted(len(comparison.blocks), "block")
        title += f"\n  {METRICS[comparison.metric]}, {count} in {comparison.seconds:.0f} s ({stop}); "
        title += f"after {workload.after}; above 1.00 {reference} is faster"
        for kind in KINDS:
            known = kind.seen(comparison)
            title += f"\n  {kind.KIND.said(known[1])}" if known else ""
    table = _table(["allocator"], ["median", f"{reference} to it [95 %]", "peak MB", "faults"])
    table.add_column(_heading(f"{reference} is"))
    against = reference in result.measured
    for name in result.fastest_first():
        other = against and name != reference
        _add(
            table,
            name,
            _median_value(result, name),
            spoken_ratio(result.interval(reference, name)) if other else ("1" if name == reference else "-"),
            _mb(result.peak_kb(name)),
            f"{result.median(name, lambda sample: sample.minor_faults):,.0f}",
            standing(result.interval(reference, name)) if other else "",
        )
    for name, why in result.failures.items():
        _add(table, name, "FAILED", "-", "-", "-", why)
    return _titled(title, table)


def _median_value(result: Result, name: str) -> str:
    """What was compared: CPU time for one thread, else the workload's own figure."""
    assert result.comparison
    if result.comparison.metric == "cpu":
        return f"{result.median(name, lambda sample: sample.cpu_s):.3f} s CPU"
    return spoken_value(result.median(name, lambda sample: sample.value), result.workload.unit)


def summary_table(campaign: Campaign) -> Group:
    """One row for each workload: the reference against the best of the others, in speed and in memory."""
    reference = campaign.reference
    table = _table(
        ["workload", "best peer"],
        [RATIO, "MB", "least MB"],
    )
    table.add_column("verdict")
    for result in campaign.results:
        best = result.best_peer(reference)
        if best is None:
            why = "; ".join(f"{name}: {reason}" for name, reason in result.failures.items()) or "nothing was measured"
            _add(table, result.workload.name, "-", "-", "-", "-", why)
            continue
        least = result.smallest_peer(reference) or best
        interval = result.interval(reference, best)
        _add(
            table,
            result.workload.name,
            best,
            spoken_ratio(interval),
            _mb(result.peak_kb(reference)),
            f"{_mb(result.peak_kb(least))} {least}",
            standing(interval) + (f"; {', '.join(result.failures)} failed" if result.failures else ""),
        )
    return _titled(f"{reference} against the fastest of the others (above 1.00 {reference} is faster), and the smallest one's peak RSS", table)


def means_table(campaign: Campaign) -> Group:
    """Geometric means over the workloads that both were measured on, and how many of them stand how."""
    reference = campaign.reference
    table = _table(
        ["against"],
        ["rows", "speed", "RSS", "ahead", "behind", "level", "unclear"],
    )
    others = [each.name for each in campaign.allocators if each.name != reference]
    for name in others:
        both = [result for result in campaign.results if {name, reference} <= set(result.measured)]
        pairs = [(result, name) for result in both]
        _add_means(table, name, reference, pairs, pairs)
    fastest = [(result, result.best_peer(reference)) for result in campaign.results]
    smallest = [(result, result.smallest_peer(reference)) for result in campaign.results]
    if len(others) > 1:
        known = [[(result, name) for result, name in rows if name] for rows in (fastest, smallest)]
        _add_means(table, "the best of each row", reference, *known)
    return _titled(f"geometric means: {reference} to each of the others (in the last row: fastest, smallest)", table)


def _add_means(
    table: Table,
    label: str,
    reference: str,
    rows: Sequence[tuple[Result, str]],
    rows_of_memory: Sequence[tuple[Result, str]],
) -> None:
    if not rows:
        _add(table, label, "0", *["-"] * 6)
        return
    intervals = [result.interval(reference, name) for result, name in rows]
    stands = [standing(interval) for interval in intervals]
    memory = [result.peak_kb(reference) / result.peak_kb(name) for result, name in rows_of_memory]
    known = [stands.count(word) for word in ("ahead", "behind", "level")]
    _add(
            table,
        label,
        str(len(rows)),
        f"{geometric_mean([interval.median for interval in intervals]):.3f}",
        f"{geometric_mean(memory):.3f}",
        *map(str, known),
        str(len(rows) - sum(known)),
    )
