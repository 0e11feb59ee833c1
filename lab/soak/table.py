"""The words of a soak: what was run, the table of figures, what went wrong."""

from __future__ import annotations

from lab.soak.outcome import Soak
from lab.spoken import counted, signed
from lab.steadiness import ENDS, WANTED_EPOCHS
from lab.tables import aligned

TITLES = (
    "allocator epochs mean first5 last5 drift against stddev CV rss-first rss-last rss-peak rss-drift".split()
)
MODELS = {"single": "one process each", "steps": "a process per step"}


def lines(soak: Soak) -> list[str]:
    """The report; speeds in millions of operations a second, memory in MB."""
    head = (
        f"soak of the mixed workload, {MODELS[soak.model]}, WS={soak.working_set}, epochs of {soak.iterations:,} "
        f"operations, {soak.seconds:.0f} s{', interrupted' if soak.interrupted else ''}"
    )
    rows = [_row(soak, name) for name in soak.names()]
    foot = [
        "speeds in M ops/s, memory in MB; drift: last five epochs to first five; against: the same of the ratio to the "
        "others' mean in each epoch"
    ]
    fewest = min((len(rows) for rows in soak.rows.values()), default=0)
    if fewest <= ENDS:
        foot.append(f"only {counted(fewest, 'epoch')}: with {ENDS} or fewer the first are the last, and no drift can be seen; {WANTED_EPOCHS} are wanted")
    elif fewest < WANTED_EPOCHS:
        foot.append(f"only {fewest} epochs: the first and the last five overlap, so that drift is understated")
    foot += [f"CRASHED: {message}" for message in soak.crashed.values()]
    return [head, *aligned(TITLES, rows), *foot] if rows else [head, "no epoch was finished", *foot[2:]]


def _row(soak: Soak, name: str) -> list[str]:
    figures, against = soak.figures(name), soak.relative_drift(name)
    speeds = [f"{value / 1e6:.2f}" for value in (figures.mean, figures.first5, figures.last5)]
    memory = [f"{value:.2f}" for value in (figures.first_rss_mb, figures.last_rss_mb, figures.peak_rss_mb)]
    return [
        name,
        str(figures.epochs),
        *speeds,
        _drift(figures.drift, figures.epochs > ENDS),
        _drift(against, min(map(len, soak.rows.values())) > ENDS),
        f"{figures.stddev / 1e6:.2f}",
        f"{figures.cv:.2f}%",
        *memory,
        _drift(figures.rss_drift, figures.epochs > 1),
    ]


def _drift(percent: float | None, known: bool) -> str:
    """`known`: there are two ends that differ."""
    return f"{signed(percent)}%" if percent is not None and known else "-"
