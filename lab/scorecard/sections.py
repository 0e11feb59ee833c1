"""The six sections of the page: for each a figure where one helps, the table, and how to read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import fmean

from lab import plots
from lab.bench_tables import METRICS
from lab.scorecard.card import AHEAD, BEHIND, FAILED, Against, Scorecard, SpeedRow
from lab.scorecard.document import Block, Cell, Figure, Fold, Table, Text
from lab.scorecard.speed import OFFICIAL, OFFICIAL_FAMILY
from lab.scorecard.words import interval, mb, ns, percent, percentile, rate, spoken_value
from lab.spoken import signed
from lab.statistics import FEWEST_BLOCKS

TONES = {AHEAD: "good", BEHIND: "bad", FAILED: "bad"}


def speed(card: Scorecard) -> list[Block]:
    rows = card.speed.rows
    blocks: list[Block] = [*official(card)]
    shown = sorted((row for row in rows if row.best), key=lambda row: row.best.ratio)  # type: ignore[union-attr]
    if shown:
        alt = f"speed of {card.subject} to the best peer on {len(shown)} workloads, the worst first"
        caption = (
            "Thick lines are 95 % intervals; filled dots are ahead, diamonds behind, hollow dots not told apart. Grey bars "
            f"are the other peers (those beyond the scale are left out). Right of 100 %, {card.subject} is faster."
        )
        marks = [ratio_row(row) for row in shown]
        blocks.append(Figure(plots.ratios(marks, f"speed of {card.subject} to the best peer", alt), alt, caption))
        blocks.append(Table(SPEED_TITLES, [speed_line(row) for row in rows], left=2, caption=SPEED_CAPTION))
        blocks.append(Fold("Every peer on every workload", [every_peer(card)]))
        blocks.append(Fold("What each workload asks", [questions(rows)]))
    for name, why in card.speed.skipped.items():
        blocks.append(Text(f"{name} was not measured: {why}", "mild"))
    return blocks


SPEED_TITLES = ["workload", "best peer", "speed to it", "95 % interval", "standing", "blocks", "ours", "peer's", "CV"]
SPEED_CAPTION = (
    "Compared are user and system time for one thread (s CPU of a run), throughput by the wall clock for several; ours and "
    "peer's are the medians of the same runs as the ratio, CV is of our runs' throughput. The peer is the fastest by the same runs, which makes us look "
    "slightly worse. Too few: below 6 blocks no interval holds 95 %; 0 blocks is a look: one run of each, two of the fastest. "
    "Below 10 blocks the interval is the exact one of order statistics, nearly the whole range."
)


def ratio_row(row: SpeedRow) -> plots.RatioRow:
    best = row.best
    assert best
    others = [entry.ratio for entry in row.against if entry is not best]
    low, high = (best.low, best.high) if best.told else (best.ratio, best.ratio)
    return plots.RatioRow(row.workload, best.ratio, low, high, TONES.get(row.standing, "mild"), others)


def speed_line(row: SpeedRow) -> list[str | Cell]:
    best, tone = row.best, TONES.get(row.standing, "mild")
    if best is None:
        why = "; ".join(f"{name}: {reason}" for name, reason in row.failures.items()) or "not measured"
        return [row.workload, why, Cell("-"), "-", Cell(row.standing, "bad"), "-", "-", "-", "-"]
    ends = interval(best.low, best.high) if best.told else "-"
    values = [compared_value(row, each) for each in (row, best)]
    cv = f"{row.cv:.1f} %" if best.blocks else "-"
    ratio = Cell(percent(best.ratio), tone)
    return [row.workload, best.peer, ratio, ends, Cell(row.standing, tone), str(best.blocks), *values, cv]


def compared_value(row: SpeedRow, measured: SpeedRow | Against) -> str:
    """What the ratio compares: throughput by the wall clock beside a ratio of CPU times may say the opposite."""
    return f"{measured.cpu_s:.3f} s CPU" if row.metric == "cpu" else spoken_value(measured.value, row.unit)


def official(card: Scorecard) -> list[Block]:
    """The mixed mean beside mimalloc's, as the contract has it."""
    row = next((row for row in card.speed.rows if row.workload == OFFICIAL), None)
    found = [row.to(name) for name in card.family(OFFICIAL_FAMILY)] if row else []
    rows = [mean_line(row, entry) for entry in found if row and entry]
    if not rows:
        return []
    titles = ["mixed workload, WS=400", "our mean", "peer's mean", "ratio of means", "median of ratios", "95 % interval", "blocks"]
    caption = (
        "The verdict is the median of the ratios, which compares CPU time of neighbouring runs. The means are the contract's, of "
        "throughput by the wall clock; means of unpaired runs drift with the machine."
    )
    return [Table(titles, rows, caption=caption)]


def mean_line(row: SpeedRow, entry: Against) -> list[str]:
    means = [spoken_value(value, row.unit) for value in (row.mean, entry.mean)]
    ends = interval(entry.low, entry.high) if entry.told else "-"
    ratio = percent(row.mean / entry.mean) if entry.mean else "-"
    return [f"to {entry.peer}", *means, ratio, percent(entry.ratio), ends, str(entry.blocks)]


def every_peer(card: Scorecard) -> Table:
    """Ratios to every peer; those that were only looked at are marked."""
    names = [each.name for each in card.allocators if each.name != card.subject]
    rows = []
    for row in card.speed.rows:
        entries = {entry.peer: entry for entry in row.against}
        cells = [one_peer(entries.get(name), name in row.failures) for name in names]
        rows.append([row.workload, *cells])
    caption = f"Speed of {card.subject} to each peer; ~ is a look: one run, or the faster of two, without an interval."
    return Table(["workload", *names], rows, caption=caption)


def one_peer(entry: Against | None, failed: bool) -> Cell:
    if entry is None:
        return Cell("failed" if failed else "-", "bad" if failed else "mild")
    said = percent(entry.ratio)
    return Cell(said, TONES.get(entry.standing, "")) if entry.blocks else Cell(f"~{said}", "mild")


def questions(rows: list[SpeedRow]) -> Table:
    titles = ["workload", "group", "question", "after", "threads", "compared by"]
    lines = [[row.workload, row.group, row.question, row.after, str(row.threads), METRICS.get(row.metric, "-")] for row in rows]
    return Table(titles, lines, left=6)


def calls(card: Scorecard) -> list[Block]:
    if not card.calls.rows:
        return []
    names = sorted({call for row in card.calls.rows for call in row.by_call})
    rows = []
    for row in sorted(card.calls.rows, key=lambda row: row.first + row.after):
        counted = [str(row.by_call.get(name, 0)) for name in names]
        total = row.first + row.after
        figures = [str(row.first), str(row.after), rate(total / card.calls.operations)]
        rows.append([subject_cell(card, row.name), *figures, *counted])
    loading = ", ".join(f"{calls} {name}" for name, calls in sorted(card.calls.loader.items()))
    caption = (
        f"Mixed workload, WS={card.calls.working_set}, {card.calls.operations:,} operations, counted by strace from the start "
        f"of the program to its last operation. Taken off: what the same program does that allocates nothing, with an empty "
        f"library preloaded ({loading})."
    )
    return [Table(["allocator", "first 1 %", "after", "per operation", *names], rows, caption=caption)]


def memory(card: Scorecard) -> list[Block]:
    blocks: list[Block] = []
    if card.memory.rows:
        rows = []
        for row in sorted(card.memory.rows, key=lambda row: row.peak_mb):
            name = subject_cell(card, row.name, f", profile {row.profile}" if row.profile else "")
            rows.append([name, mb(row.peak_mb), mb(row.largest_peak_mb), mb(row.end_mb), str(row.runs)])
        caption = "MB of 1024 * 1024 bytes, mixed workload, WS=400 (about 0.1 MB live); program and C library are part of it."
        blocks.append(Table(["allocator", "peak, median", "peak, largest", "at the end", "runs"], rows, caption=caption))
    measured = [row for row in card.speed.rows if row.against and row.rss_mb > 0]
    if measured:
        alt = f"peak RSS of {card.subject} and its peers on {len(measured)} workloads"
        dots = [plots.DotRow(row.workload, row.rss_mb, [entry.rss_mb for entry in row.against]) for row in measured]
        caption = f"Peak RSS of the runs of the section Speed. The dot is {card.subject}, grey bars are the peers; left is less."
        blocks.append(Figure(plots.dots(dots, "peak RSS, MB (logarithmic)", alt), alt, caption))
        blocks.append(Fold("Peak RSS of every allocator on every workload, MB", [peaks(card, measured)]))
    return blocks


def peaks(card: Scorecard, rows: list[SpeedRow]) -> Table:
    names = [each.name for each in card.allocators if each.name != card.subject]
    lines = []
    for row in rows:
        by_name = {entry.peer: mb(entry.rss_mb) for entry in row.against}
        lines.append([row.workload, mb(row.rss_mb), *(by_name.get(name, "-") for name in names)])
    return Table(["workload", card.subject, *names], lines)


def long_run(card: Scorecard) -> list[Block]:
    soak = card.long_run
    if not soak.rows:
        return []
    alt = "throughput and memory of every allocator over the long run"
    speeds = {row.name: (row.minutes, [value / 1e6 for value in row.throughput_ops_s]) for row in soak.rows}
    memories = {row.name: (row.minutes, row.rss_mb) for row in soak.rows}
    panels = [
        plots.Panel("Throughput", "minutes", "M ops/s", speeds, from_zero=True),
        plots.Panel("Memory", "minutes", "RSS, MB", memories, from_zero=True),
    ]
    rows = []
    for row in sorted(soak.rows, key=lambda row: row.cv):
        drifts = ["-" if value is None else f"{signed(value, 1)} %" for value in (row.drift, row.relative_drift)]
        spreads = ["-" if value is None else f"{value:.1f} %" for value in (row.cv, row.relative_cv)]
        memory_of = [mb(row.rss_mb[-1]), f"{signed(row.rss_drift, 1)} %"]
        speed_of = f"{fmean(row.throughput_ops_s) / 1e6:.1f}"
        rows.append([subject_cell(card, row.name), str(len(row.throughput_ops_s)), speed_of, *drifts, *spreads, *memory_of])
    titles = ["allocator", "epochs", "mean, M ops/s", "drift", "against others", "CV", "CV against others", "RSS at end, MB", "RSS drift"]
    caption = (
        f"Mixed workload, WS={soak.working_set}, {soak.seconds / 60:.1f} min, epochs of {soak.iterations:,} operations (about "
        f"{soak.epoch_s:.2g} s), the allocators in turn. Drift: mean of the last five epochs to the first five. Against others: "
        "the same of each epoch's speed over the mean of the others' in that round, in which the machine's own drift cancels."
    )
    return [Figure(plots.lines(panels, card.subject, alt), alt), Table(titles, rows, caption=caption)]


def tail(card: Scorecard) -> list[Block]:
    blocks: list[Block] = []
    if card.tail.rows:
        alt = "latency of single calls of malloc and free by percentile, for every allocator"
        blocks.append(Figure(plots.lines(tail_panels(card), card.subject, alt), alt))
        blocks += [call_table(card, call) for call in card.tail.rows[0].ns]
        blocks.append(
            Text(
                f"Nanoseconds of single calls in the mixed workload, WS={card.tail.working_set}; the clock's own median cost, "
                f"{card.tail.clock_cost_ns:.1f} ns, is taken off. The row `nothing` is what is measured when nothing is called: "
                "interrupts, other processes, the hypervisor. No allocator can be told from another below it."
            )
        )
    if card.long_run.rows:
        blocks.append(epoch_table(card))
    return blocks


def tail_panels(card: Scorecard) -> list[plots.Panel]:
    shown = [index for index, value in enumerate(card.tail.percents) if value < 100]
    labels = [percentile(card.tail.percents[index]) for index in shown]
    floor = 0.1  # half of a tick or less: the logarithm needs something above 0
    panels = []
    for call in card.tail.rows[0].ns:
        series: Mapping[str, tuple[list[int], list[float]]] = {
            row.name: (list(range(len(shown))), [max(floor, row.ns[call][index]) for index in shown]) for row in card.tail.rows
        }
        panels.append(plots.Panel(call, "percentile of calls", "ns (logarithmic)", series, log_y=True, x_labels=labels))
    return panels


def call_table(card: Scorecard, call: str) -> Table:
    places = range(len(card.tail.percents))
    best = [min(row.ns[call][place] for row in card.tail.rows) for place in places]
    rows: list[list[str | Cell]] = []
    for row in sorted(card.tail.rows, key=lambda row: row.ns[call][2]):
        cells = [Cell(ns(row.ns[call][i]), "good" if row.ns[call][i] <= best[i] else "") for i in places]
        rows.append([subject_cell(card, row.name), *cells, f"{row.count / 1e6:.1f} M"])
    if card.tail.clock_ns:
        rows.append([Cell("nothing", "mild"), *(Cell(ns(value), "mild") for value in card.tail.clock_ns), ""])
    return Table([f"{call}, ns", *(percentile(value) for value in card.tail.percents), "calls"], rows)


def epoch_table(card: Scorecard) -> Table:
    rows: list[list[str | Cell]] = [
        [subject_cell(card, row.name), f"{row.p99_to_p50:.3f}", f"{row.latency_cv:.1f} %"]
        for row in sorted(card.long_run.rows, key=lambda row: row.p99_to_p50)
    ]
    caption = "Of nanoseconds per operation of the epochs of the long run: an epoch is a mean over millions of calls."
    return Table(["epochs", "p99/p50", "stddev/mean"], rows, caption=caption)


def startup(card: Scorecard) -> list[Block]:
    if not card.startup.rows:
        return []
    rows, told = [], card.startup.runs >= FEWEST_BLOCKS
    for row in sorted(card.startup.rows, key=lambda row: row.extra_us):
        ends = f"{row.extra_low_us:+.0f} to {row.extra_high_us:+.0f}"
        extra = [f"{row.extra_us:+.0f}", ends if told else "-"] if row.extra_us or row.extra_low_us != row.extra_high_us else ["-", "-"]
        counted = "-" if row.calls is None else str(row.calls)
        rows.append([subject_cell(card, row.name), f"{row.cpu_us:.0f}", *extra, f"{row.faults:.0f}", counted, mb(row.rss_mb)])
    titles = ["allocator", "CPU time, µs", "over glibc, µs", "95 % interval", "page faults", "system calls", "peak RSS, MB"]
    caption = f"Running `{card.startup.program}`, which does nothing: medians of {card.startup.runs} interleaved runs of each."
    return [Table(titles, rows, caption=caption)]


def subject_cell(card: Scorecard, name: str, more: str = "") -> Cell:
    """The subject is marked, in words and not only by colour."""
    return Cell(f"▸ {name}{more}" if name == card.subject else f"{name}{more}")


BLOCKS: dict[str, Callable[[Scorecard], list[Block]]] = {
    "speed": speed,
    "calls": calls,
    "memory": memory,
    "long_run": long_run,
    "tail": tail,
    "startup": startup,
}
