"""A machine of which everything is known: runs whose cost is drawn, not measured, on a clock that is only counted.

The noise follows what a shared virtual machine does: every run is 2 % log-normal, one in twelve is hit by a neighbour
(up to 40 % slower), and for stretches of one to four minutes the whole machine runs at half speed.
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
    """`cost` is each allocator's true cost of a run in seconds; `run` is a runner for lab.pairs.compare."""

    cost: dict[str, float]
    seed: int = 0
    noise: float = 0.02
    now: float = 0.0
    switch: float = 0.0
    slow: bool = False
    interrupt_after: int | None = None
    runs: list[tuple[str, int | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)

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
        self.now += cost + 0.003
        return Sample(value=1e7 / cost, wall_s=cost, user_s=cost, system_s=0.0, peak_rss_kb=2000, started=self.now)
