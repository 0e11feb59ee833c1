"""What every section is given: who takes part, where, for how long, and whom to tell about it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lab import run, witness
from lab.model import Allocator, Workload


@dataclass
class Setting:
    """`allocators[0]` is the subject. `clock` gives seconds; `tell` shows what is being done."""

    allocators: list[Allocator]
    workloads: list[Workload]
    seed: int = 0
    full: bool = False
    cpu: int | None = None
    tell: Callable[[str], None] = lambda what: None
    clock: Callable[[], float] = time.monotonic
    proven: set[tuple[str, ...]] = field(default_factory=set)

    @property
    def subject(self) -> Allocator:
        return self.allocators[0]

    @property
    def peers(self) -> list[Allocator]:
        return self.allocators[1:]

    def prove(self, workload: Workload, allocators: Sequence[Allocator] | None = None) -> None:
        """The witness sees each allocator in the workload's program, once a program. Raises WitnessError."""
        program = tuple(workload.command) if workload.group == "real" else (workload.command[0],)
        for allocator in allocators or self.allocators:
            seen = (allocator.name, *program)
            if seen not in self.proven:
                self.tell(f"witness: {allocator.name} in {workload.name}")
                witness.prove(allocator, workload.command, run.environment(workload, allocator))
                self.proven.add(seen)


class Timer:
    """The time of one section."""

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self.seconds, self.clock, self.began = seconds, clock, clock()

    @property
    def spent(self) -> float:
        return self.clock() - self.began

    @property
    def left(self) -> float:
        """Never below 0."""
        return max(0.0, self.seconds - self.spent)
