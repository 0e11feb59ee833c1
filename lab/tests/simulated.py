"""A machine of which everything is known: runs whose cost is drawn, not measured, on a clock that is only counted.

The noise follows what a shared virtual machine does: every run is 2 % log-normal, one in twelve is hit by a neighbour
(up to 40 % slower), and for stretches of one to four minutes the whole machine runs at half speed. Where it is asked for, somebody
else's thread has part of the core for seconds, and what child.c reports of that comes with each run.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

from lab.model import Allocator, Sample, Workload

MIXED = Workload("mixed", "?", ["unused"], seconds=0.2)


def allocator(name: str, path: str | None = None) -> Allocator:
    return Allocator(name, path, "1.0", "simulated", "simulated")


@dataclass
class Machine:
    """`cost` is each allocator's true cost of a run in seconds; `run` is a runner for lab.pairs.compare. `shared` is the factor that
    each one's cost has while the core is shared; always, where it is `crowded`."""

    cost: dict[str, float]
    seed: int = 0
    noise: float = 0.02
    now: float = 0.0
    switch: float = 0.0
    slow: bool = False
    interrupt_after: int | None = None
    runs: list[tuple[str, int | None]] = field(default_factory=list)
    shared: dict[str, float] = field(default_factory=dict)
    crowded: bool = False
    has_neighbour: bool = False
    neighbour_turns: float = 0.0

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.core = random.Random(self.seed + 1000)

    def clock(self) -> float:
        return self.now

    def run(self, workload: Workload, allocator: Allocator, *, cpu: int | None = None) -> Sample:
        if self.interrupt_after is not None and len(self.runs) >= self.interrupt_after:
            raise KeyboardInterrupt
        self.runs.append((allocator.name, cpu))
        if self.now >= self.switch:
            self.slow = not self.slow
            self.switch = self.now + self.rng.uniform(60, 240)
        cost = self.cost[allocator.name] * math.exp(self.rng.gauss(0, self.noise)) * (2 if self.slow else 1)
        if self.rng.random() < 1 / 12:
            cost *= self.rng.uniform(1, 1.4)
        extra = self._share_core() if self.shared or self.crowded else {}
        cost *= self.shared.get(allocator.name, 1.0) if self.has_neighbour else 1.0
        self.now += cost + 0.003
        return Sample(1e7 / cost, wall_s=cost, user_s=cost, system_s=0.0, peak_rss_kb=2000, started=self.now, extra=extra)

    def _share_core(self) -> dict[str, tuple[float, float]]:
        if self.now >= self.neighbour_turns:
            self.has_neighbour = self.crowded or not self.has_neighbour
            self.neighbour_turns = self.now + self.core.uniform(0.5, 8)
        if self.has_neighbour:
            return {"sharing": (self.core.uniform(1.2, 1.9), self.core.uniform(1.2, 1.9))}
        return {"sharing": (1.06 * math.exp(self.core.gauss(0, 0.004)), 1.06 * math.exp(self.core.gauss(0, 0.004)))}
