"""What came of a soak: every line of every allocator, the figures of each, and the record of it all as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from lab import csvs, steadiness
from lab.errors import CrashError
from lab.model import Allocator


@dataclass
class Soak:
    """`iterations` is the length of an epoch in operations, `seconds` the wall time, `proofs` what the witness said.

    `rows` has an allocator's epochs, `ended_s` when each of them was over, in seconds since the soak began.
    """

    model: str
    allocators: list[Allocator]
    iterations: int
    working_set: int
    seed: int
    cpu: int | None = None
    rows: dict[str, list[csvs.Row]] = field(default_factory=dict)
    ended_s: dict[str, list[float]] = field(default_factory=dict)
    crashed: dict[str, str] = field(default_factory=dict)
    proofs: list[str] = field(default_factory=list)
    seconds: float = 0.0
    interrupted: bool = False

    def add(self, name: str, row: csvs.Row | CrashError, ended_s: float) -> None:
        """Takes what lab.soak.rounds gives."""
        if isinstance(row, CrashError):
            self.crashed[name] = row.message
        else:
            self.rows.setdefault(name, []).append(row)
            self.ended_s.setdefault(name, []).append(ended_s)
        self.seconds = ended_s

    def throughput(self) -> dict[str, list[float]]:
        """Operations a second by allocator, an entry an epoch."""
        return {name: [row.throughput_ops_s for row in self.rows[name]] for name in self.names()}

    def rss_mb(self) -> dict[str, list[float]]:
        """Memory by allocator, an entry an epoch: current of a long process, peak of a step."""
        return {name: [row.rss_mb for row in self.rows[name]] for name in self.names()}

    def figures(self, name: str) -> steadiness.Steadiness:
        """Of an allocator with at least one epoch."""
        return steadiness.Steadiness.of(self.throughput()[name], self.rss_mb()[name])

    def relative_drift(self, name: str) -> float | None:
        """Drift of its speed against the others' in per cent. A crashed one counts as far as it came."""
        return steadiness.relative_drift(self.throughput(), name)

    def names(self) -> list[str]:
        """The allocators that have lines, in the order in which they were asked for."""
        return [allocator.name for allocator in self.allocators if allocator.name in self.rows]

    def as_json(self) -> dict[str, Any]:
        """Everything: settings, every line, the figures."""
        figures = {
            name: asdict(self.figures(name)) | {"relative_drift": self.relative_drift(name)} for name in self.names()
        }
        return asdict(self) | {"figures": figures}
