"""The record of an experiment: docs/experiments/DATE-NAME.md for people, the same name with .json for programs.

The Markdown says what was asked, the verdict with one line of reason, the contract's figures of both sides and how it
was measured. The JSON has every run of every side in the order of the clock, so that any statistic can be computed
again. Paths of this machine are cut: inside the tree they are relative to it, elsewhere the last part is kept.

A record is never written over: a second one of the same day and name gets "-2". One of which nothing had blocks enough
for a verdict is called "-unfinished", so that nobody takes it for an answer, or keeps it by mistake.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lab import builds, statistics, store
from lab.errors import LabError
from lab.experiment import KINDS, Experiment, Outcome
from lab.model import Allocator, Sample
from lab.pairs import Comparison, Run
from lab.spoken import counted

ROOT = Path(__file__).resolve().parents[1]
DIRECTORY = ROOT / "docs/experiments"
COLUMNS = (
    "block name order value wall_s user_s system_s peak_rss_kb minor_faults major_faults voluntary involuntary started "
    "before after"
).split()
FLAT_LIST = re.compile(r"\[\n([^\[\]{}]*)\]")
LINE_END = re.compile(r"\n\s*")
METRICS_SHOWN = ("cpu", "wall", "throughput")


def check() -> None:
    """Before anything is measured, not after. Raises LabError when no record can be written."""
    try:
        DIRECTORY.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=DIRECTORY):
            pass
    except OSError as error:
        raise refused(error) from None


def refused(error: OSError) -> LabError:
    fix = "make it writable, or do without a record: --no-record, and --json FILE for the runs"
    return LabError(f"cannot write in {DIRECTORY}: {error.strerror or error}", fix)


def portable(word: str) -> str:
    """`word` without a path of this machine."""
    if not os.path.isabs(word):
        return word
    path = Path(word)
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name


def side(allocator: Allocator) -> dict[str, Any]:
    """An allocator for the record, with the first digits of its library's SHA-256."""
    facts = asdict(allocator) | {"path": portable(allocator.path or ""), "origin": portable(allocator.origin)}
    if allocator.path and os.path.isfile(allocator.path):
        facts["sha256"] = hashlib.sha256(Path(allocator.path).read_bytes()).hexdigest()[:16]
    return facts


def rows(comparison: Comparison) -> list[list[Any]]:
    """Every run as a row of COLUMNS; `block` is its number, "warm-up" or "unfinished"."""
    labelled: list[tuple[int | str, list[Run]]] = [("warm-up", comparison.warm_up)]
    labelled += list(enumerate(comparison.blocks))
    labelled += [("unfinished", comparison.unfinished)]
    return [[label, entry.name, *_figures(entry.sample)] for label, runs in labelled for entry in runs]


def _figures(sample: Sample) -> list[Any]:
    before, after = next((sample.extra[kind.KIND.key] for kind in KINDS if kind.KIND.key in sample.extra), (0.0, 0.0))
    values = asdict(sample) | {"before": before, "after": after}
    return [round(values[name], 6) if isinstance(values[name], float) else values[name] for name in COLUMNS[2:]]


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """A comparison with all its runs."""
    workload = asdict(comparison.workload)
    workload["command"] = [portable(word) for word in comparison.workload.command]
    return {
        "workload": workload,
        "allocators": [side(allocator) for allocator in comparison.allocators],
        "metric": comparison.metric,
        "cpu": comparison.cpu,
        "stopped": comparison.stopped,
        "seconds": round(comparison.seconds, 3),
        "blocks": len(comparison.blocks),
        "runs": {"columns": list(COLUMNS), "rows": rows(comparison)},
    }


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    """A verdict and what it rests on, without the runs."""
    return {
        "workload": outcome.comparison.workload.name,
        "reference": outcome.reference.name,
        "candidate": outcome.candidate.name,
        "verdict": outcome.verdict,
        "unfinished": outcome.unfinished,
        "reason": outcome.reason,
        "band": outcome.band,
        "interval": outcome.interval.json(),
        "noise": asdict(outcome.noise),
        **_levels_json(outcome),
        "other_metrics": {name: found.json() for name, found in other_intervals(outcome).items()},
    }


def _levels_json(outcome: Outcome) -> dict[str, Any]:
    found = outcome.levels
    return {kind.KIND.key: found.json() if found and found.kind is kind.KIND else None for kind in KINDS}


def other_intervals(outcome: Outcome) -> dict[str, statistics.Interval]:
    """Intervals of the metrics that did not decide; none when instructions were counted."""
    comparison = outcome.comparison
    if comparison.metric == "instructions":
        return {}
    others = [name for name in METRICS_SHOWN if name != comparison.metric]
    return {name: comparison.interval(outcome.candidate.name, outcome.reference.name, name) for name in others}


def as_json(experiment: Experiment) -> dict[str, Any]:
    """The whole experiment for `--json` and the record."""
    comparisons = _comparisons(experiment)
    return {
        **store.origin(experiment.kind, experiment.machine),
        "question": experiment.question,
        "level": experiment.level,
        "verdict": experiment.verdict,
        "unfinished": experiment.unfinished,
        "reason": experiment.reason or experiment.outcomes[0].reason,
        "source": builds.source_version(),
        "outcomes": [outcome_json(found) for found in experiment.outcomes],
        "comparisons": [comparison_json(comparison) for comparison in comparisons],
    }


def _comparisons(experiment: Experiment) -> list[Comparison]:
    return list({id(found.comparison): found.comparison for found in experiment.outcomes}.values())


def markdown(experiment: Experiment, raw: str) -> str:
    """The page; `raw` is the name of the JSON file beside it."""
    machine = experiment.machine
    lines = [f"# {experiment.question} ({machine.date[:10]}{', unfinished' if experiment.unfinished else ''})", ""]
    if experiment.kind == "ab":
        lines += [f"**Verdict**: {experiment.outcomes[0].said}. {experiment.reason or experiment.outcomes[0].reason}.", ""]
    elif experiment.reason:
        lines += [f"{experiment.reason}.", ""]
    lines += _verdicts(experiment) + [""]
    for comparison in _comparisons(experiment):
        lines += _figures_table(comparison) + [""]
    sides = {
        allocator.name: allocator for comparison in _comparisons(experiment) for allocator in comparison.allocators
    }
    lines += ["**Sides**:", ""] + [_side_line(allocator) for allocator in sides.values()] + [""]
    lines += [
        f"**Machine**: {machine.cpu}, {counted(machine.cores, 'core')}, {machine.memory_mb} MiB, Linux {machine.kernel}, "
        f"THP {machine.thp or 'unknown'}, {machine.libc}, {machine.compiler}.",
        "",
        "**How**: blocks of A B B A or B A A B, a new process for each run, clean environment; one ratio a block, the median "
        f"with its bootstrap 95 % interval. Every run: [{raw}]({raw}).",
    ]
    return "\n".join(lines) + "\n"


def _verdicts(experiment: Experiment) -> list[str]:
    table = ["| workload | side | against | change | blocks | measured | verdict |", "|---|---|---|---|---|---|---|"]
    for found in experiment.outcomes:
        comparison = found.comparison
        cells = [comparison.workload.name, found.candidate.name, found.reference.name, f"**{found.change}**"]
        cells += [str(found.interval.n), comparison.metric, f"{found.said}: {found.reason}"]
        table.append(f"| {' | '.join(cells)} |")
        table += [f"| | | | {interval} | {interval.n} pairs | {name} | |" for name, interval in (found.levels.rows() if found.levels else [])]
        for name, interval in other_intervals(found).items():
            table.append(f"| | | | {interval} | {interval.n} | {name} | |")
    return table


def _figures_table(comparison: Comparison) -> list[str]:
    workload = comparison.workload
    if comparison.metric == "instructions":
        table = ["| side | instructions |", "|---|---|"]
        counts = {a.name: comparison.samples(a.name)[0].extra["instructions"] for a in comparison.allocators}
        return table + [f"| {name} | {count:,} |" for name, count in counts.items()]
    scale, unit = (1e6, "M ops/s") if workload.unit == "ops/s" else (1.0, workload.unit)
    table = [
        f"`{workload.name}`, {unit}, {comparison.seconds:.0f} s, ended by: {comparison.stopped}; unpaired, so for orientation only:",
        "",
        "| side | runs | mean | median | min | max | stddev | CV | CPU s | peak RSS |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for allocator in comparison.allocators:
        s = statistics.summary([value / scale for value in comparison.values(allocator.name)])
        samples = comparison.samples(allocator.name)
        cpu = statistics.summary([sample.cpu_s for sample in samples]).median
        peak = statistics.summary([sample.peak_rss_kb for sample in samples]).median / 1024
        figures = " | ".join(f"{figure:.4g}" for figure in (s.mean, s.median, s.min, s.max, s.stddev))
        table.append(f"| {allocator.name} | {s.n} | {figures} | {100 * s.cv:.1f} % | {cpu:.4f} | {peak:.1f} MiB |")
    return table


def _side_line(allocator: Allocator) -> str:
    facts = side(allocator)
    settings = " ".join(f"{name}={value}" for name, value in allocator.env.items())
    parts = [facts["path"] or "no preload", allocator.version, facts.get("sha256", ""), settings]
    return f"- `{allocator.name}`: {', '.join(part for part in parts if part)}"


def slug(words: str) -> str:
    """A file name from a question."""
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:60].strip("-") or "experiment"


def write(experiment: Experiment, name: str, directory: Path = DIRECTORY) -> Path:
    """Writes both files and returns the path of the Markdown one."""
    directory.mkdir(parents=True, exist_ok=True)
    stem = f"{experiment.machine.date[:10]}-{slug(name)}" + ("-unfinished" if experiment.unfinished else "")
    for number in range(1, 10000):
        path = directory / (f"{stem}.md" if number == 1 else f"{stem}-{number}.md")
        try:
            with open(path, "x") as page:
                page.write(markdown(experiment, path.with_suffix(".json").name))
        except FileExistsError:
            continue
        path.with_suffix(".json").write_text(compact(as_json(experiment)))
        return path
    raise FileExistsError(f"too many records named {stem}")


def compact(facts: dict[str, Any]) -> str:
    """JSON that is indented, but with one run a line. (A line end in JSON is never inside of a string.)"""
    text = json.dumps(facts, indent=1)
    return FLAT_LIST.sub(lambda found: f"[{LINE_END.sub(' ', found[1]).strip()}]", text) + "\n"
