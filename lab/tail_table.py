"""The tables of `hakmem tail`: percentiles of single calls, and of epochs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from lab import tail
from lab.spoken import counted
from lab.steadiness import PERCENTS, EpochTail
from lab.tables import aligned

TITLES = [*(f"p{percent:g}" for percent in tail.PERCENTS), "max"]


def calls(measured: tail.Calls) -> list[str]:
    """A table for malloc and one for free, in nanoseconds; under each, hakmem against the best of the others."""
    if not measured.measured():
        return ["no run was finished"]
    runs = len(measured.measured()[0].runs)
    head = (
        f"ns of single calls, mixed workload, WS={measured.working_set}, {counted(runs, 'run')} of {measured.iterations:,} steps, "
        f"merged; the clock's {measured.cost_ns():.0f} ns are taken off"
        + (", interrupted" if measured.interrupted else "")
    )
    clock = tail.percentiles(measured.clock())
    lines = [head]
    for what in tail.CALLS:
        figures = {one.name: tail.percentiles(one.merged(what)) for one in measured.measured()}
        rows = [[name, *map(_ns, values)] for name, values in figures.items()]
        lines += ["", *aligned([what, *TITLES], [*rows, ["clock", *map(_ns, clock)]]), *_against(figures)]
    lines += ["", "clock: pairs of readings with nothing between them: the machine's own tail"]
    return [*lines, *_missing("single calls", [one.name for one in measured.measured()], list(measured.tails))]


def _missing(what: str, there: Collection[str], asked: Sequence[str]) -> list[str]:
    """Who was asked for and is not in the table."""
    names = [name for name in asked if name not in there]
    return [f"{what} not measured: {', '.join(names)}"] if names else []


def _ns(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def _against(figures: Mapping[str, Sequence[float]]) -> list[str]:
    """hakmem's percentiles over the best of the other allocators: below 1 it is ahead."""
    others = [values for name, values in figures.items() if not name.startswith("hakmem")]
    if "hakmem" not in figures or not others:
        return []
    best = [min(column) for column in zip(*others, strict=True)]
    ratios = [f"{ours / other:.2f}" if other else "-" for ours, other in zip(figures["hakmem"], best, strict=True)]
    return ["hakmem / best of the others: " + ", ".join(f"{t} {r}" for t, r in zip(TITLES, ratios, strict=True))]


def epochs(speeds: Mapping[str, Sequence[float]], asked: Sequence[str] = ()) -> list[str]:
    """The epoch proxy: low side of throughput in M ops/s, high side of ns per operation; and who of `asked` has none."""
    tails = {name: EpochTail.of(values) for name, values in speeds.items() if values}
    missing = _missing("epochs", tails, asked)
    if not tails:
        return ["", *missing] if missing else []
    percents = [f"{percent:g}" for percent in PERCENTS]
    titles = ["epochs", "n", *(f"M/s p{p}" for p in percents), *(f"ns p{p}" for p in percents), "p99/p50", "CV"]
    rows = [
        [
            name,
            str(found.epochs),
            *(f"{value / 1e6:.2f}" for value in found.throughput_ops_s),
            *(f"{value:.2f}" for value in found.latency_ns),
            f"{found.p99_to_p50:.3f}",
            f"{found.cv:.2f}%",
        ]
        for name, found in tails.items()
    ]
    few = min(found.epochs for found in tails.values())
    note = [f"with {counted(few, 'epoch')} p99 and p99.9 are little but the worst epoch"] if few < 100 else []
    return ["", *aligned(titles, rows), *note, *missing]
