"""What `hakmem ab` says: an outcome as lines of text, and where text and JSON go."""

from __future__ import annotations

import sys
from typing import Any

from lab import record, results, statistics
from lab.experiment import Outcome
from lab.spoken import counted


class Output:
    """With `--json -` standard output is the JSON's, and the text is left out."""

    def __init__(self, json: str | None) -> None:
        self.json = json

    def say(self, *lines: str) -> None:
        """Lines for people, at once."""
        if self.json != "-":
            print(*lines, sep="\n", flush=True)

    def give(self, facts: dict[str, Any]) -> None:
        """The JSON, if it was asked for."""
        if self.json == "-":
            sys.stdout.write(record.compact(facts))
        elif self.json:
            results.write(self.json, record.compact(facts))


def lines(found: Outcome) -> list[str]:
    """The verdict first, then what it rests on."""
    comparison = found.comparison
    where = "" if comparison.cpu is None else f" on CPU {comparison.cpu}"
    text = [
        f"{comparison.workload.name}: {found.candidate.name} against {found.reference.name}: {found.said}  {found.change}",
        f"  {found.reason}",
        f"  {comparison.metric}{where}, {counted(found.interval.n, 'block')}, {comparison.seconds:.0f} s, ended by: {comparison.stopped}",
    ]
    if found.levels:
        text += found.levels.lines()
    for name, interval in record.other_intervals(found).items():
        text.append(f"  {name:<10} {interval}")
    if comparison.metric != "instructions":
        text += _runs(found)
    return text


def _runs(found: Outcome) -> list[str]:
    """The contract's figures of unpaired runs."""
    workload = found.comparison.workload
    scale, unit = (1e6, "M ops/s") if workload.unit == "ops/s" else (1.0, workload.unit)
    text = []
    for side in (found.reference, found.candidate):
        s = statistics.summary([value / scale for value in found.comparison.values(side.name)])
        text.append(
            f"  {side.name}: {counted(s.n, 'run')}, {unit}: mean {s.mean:.4g} median {s.median:.4g} min {s.min:.4g} max {s.max:.4g} "
            f"stddev {s.stddev:.3g} CV {100 * s.cv:.1f} %"
        )
    return text
