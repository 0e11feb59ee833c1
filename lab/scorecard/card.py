"""What a scorecard holds: plain data that goes to JSON with `dataclasses.asdict` and comes back with `load`.

The allocator that the page is about is the subject; the others are its peers. Ratios of speed are the subject's speed
over the peer's: 1.03 is a subject that is 3 % faster. Memory is in MB of 1024 * 1024 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from lab.model import Allocator, Machine
from lab.statistics import FEWEST_BLOCKS

DONE, PARTIAL, FAILED, INTERRUPTED, NOT_RUN = "done", "partial", "failed", "interrupted", "not run"
AHEAD, LEVEL, BEHIND, NOISY, FEW = "ahead", "level", "behind", "too noisy", "too few"
BAND = 0.01


@dataclass
class Against:
    """The subject against one peer on one workload.

    `value` and `mean` are the peer's, in the workload's unit, `cpu_s` its median CPU time, `rss_mb` its median peak. `blocks` is 0 when there was
    only a look (a run, or the faster of two): then the ratio has no interval (`low` and `high` are equal to it).
    """

    peer: str
    ratio: float
    low: float
    high: float
    blocks: int
    value: float
    mean: float
    rss_mb: float
    cpu_s: float = 0.0

    @property
    def told(self) -> bool:
        """Whether there are blocks enough for an interval."""
        return self.blocks >= FEWEST_BLOCKS

    @property
    def standing(self) -> str:
        """The words of `hakmem bench`; LEVEL is within BAND for sure."""
        if not self.told:
            return FEW
        if self.low > 1 or self.high < 1:
            return AHEAD if self.low > 1 else BEHIND
        return LEVEL if self.low >= 1 - BAND and self.high <= 1 + BAND else NOISY


@dataclass
class SpeedRow:
    """One workload; `value`, `mean`, `cv` (per cent), `cpu_s` and `rss_mb` are the subject's. `failures` by allocator."""

    workload: str
    question: str
    group: str
    after: str
    unit: str
    threads: int
    metric: str = ""
    value: float = 0.0
    mean: float = 0.0
    cv: float = 0.0
    cpu_s: float = 0.0
    rss_mb: float = 0.0
    stopped: str = ""
    against: list[Against] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def best(self) -> Against | None:
        """The fastest peer: of those that were measured in blocks, else of those that were looked at."""
        measured = [entry for entry in self.against if entry.blocks] or self.against
        return min(measured, key=lambda entry: entry.ratio) if measured else None

    @property
    def standing(self) -> str:
        """Against the best peer; FAILED when the subject has no figure."""
        return self.best.standing if self.best else FAILED

    def to(self, peer: str) -> Against | None:
        """The entry of one peer."""
        return next((entry for entry in self.against if entry.peer == peer), None)


@dataclass
class Speed:
    rows: list[SpeedRow] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)


@dataclass
class CallsRow:
    """Memory system calls in the first 1 % of the operations and after it, without `Calls.loader`; `by_call` is of both."""

    name: str
    first: int
    after: int
    by_call: dict[str, int] = field(default_factory=dict)

    @property
    def bar_calls(self) -> int:
        """Those of the contract's bar: mmap, munmap, madvise."""
        return sum(self.by_call.get(call, 0) for call in ("mmap", "munmap", "madvise"))


@dataclass
class Calls:
    """`loader` are the calls of the same program that allocates nothing, with an empty library preloaded."""

    operations: int = 0
    working_set: int = 0
    loader: dict[str, int] = field(default_factory=dict)
    rows: list[CallsRow] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)


@dataclass
class MemoryRow:
    """The mixed workload at WS=400 under an allocator; medians of `runs` processes."""

    name: str
    profile: str
    peak_mb: float
    largest_peak_mb: float
    end_mb: float
    runs: int


@dataclass
class Memory:
    rows: list[MemoryRow] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)


@dataclass
class LongRunRow:
    """One allocator in the soak: an entry of each list an epoch. `minutes` is when the epoch ended."""

    name: str
    throughput_ops_s: list[float]
    rss_mb: list[float]
    minutes: list[float]
    drift: float = 0.0
    relative_drift: float | None = None
    cv: float = 0.0
    relative_cv: float | None = None
    rss_drift: float = 0.0
    p99_to_p50: float = 0.0
    latency_cv: float = 0.0


@dataclass
class LongRun:
    """`epoch_s` is roughly how long an epoch is; drifts and CVs are in per cent."""

    epoch_s: float = 0.0
    iterations: int = 0
    working_set: int = 0
    seconds: float = 0.0
    rows: list[LongRunRow] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)


@dataclass
class TailRow:
    """Nanoseconds at the percentiles of `Tail.percents`, by call (malloc, free): of all runs together, of each run."""

    name: str
    ns: dict[str, list[float]]
    runs: dict[str, list[list[float]]]
    count: int


@dataclass
class Tail:
    """`clock_ns`: what is measured at the same percentiles when nothing is called."""

    percents: list[float] = field(default_factory=list)
    working_set: int = 0
    clock_cost_ns: float = 0.0
    clock_ns: list[float] = field(default_factory=list)
    rows: list[TailRow] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)


@dataclass
class StartupRow:
    """Starting a program that does nothing: medians. `cpu_us` is user and system time, `extra` is over glibc."""

    name: str
    cpu_us: float
    extra_us: float
    extra_low_us: float
    extra_high_us: float
    faults: float
    rss_mb: float
    calls: int | None = None


@dataclass
class Startup:
    program: str = ""
    runs: int = 0
    rows: list[StartupRow] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)


@dataclass
class Status:
    """How far a section came: one of DONE ... NOT_RUN, why, and how long it took of what it was given."""

    state: str = NOT_RUN
    reason: str = ""
    seconds: float = 0.0
    given_s: float = 0.0


SECTIONS = {
    "speed": "Speed",
    "calls": "System calls",
    "memory": "Memory",
    "long_run": "Long run",
    "tail": "Tail",
    "startup": "Start-up",
}


@dataclass
class Scorecard:
    """Everything. `missing` are peers that could not be had, with the reason; `options` what was asked for."""

    subject: str
    allocators: list[Allocator]
    machine: Machine
    commit: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    status: dict[str, Status] = field(default_factory=lambda: {name: Status() for name in SECTIONS})
    speed: Speed = field(default_factory=Speed)
    calls: Calls = field(default_factory=Calls)
    memory: Memory = field(default_factory=Memory)
    long_run: LongRun = field(default_factory=LongRun)
    tail: Tail = field(default_factory=Tail)
    startup: Startup = field(default_factory=Startup)

    def family(self, name: str) -> list[str]:
        """The peers of a family ("mimalloc"), in their order."""
        return [each.name for each in self.allocators if each.family == name and each.name != self.subject]


T = TypeVar("T")


def load(kind: type[T], values: Any) -> T:
    """The dataclass `kind` from what `asdict` and JSON made of it. Fields that it does not know are left out.

    Raises TypeError, KeyError or AttributeError when the values are not of that shape.
    """
    hints = get_type_hints(kind)
    known = {entry.name for entry in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: _value(hints[name], value) for name, value in values.items() if name in known})


def _value(hint: Any, value: Any) -> Any:
    if is_dataclass(hint):
        return load(hint, value)  # type: ignore[arg-type]
    inner = get_args(hint)
    if get_origin(hint) is list and is_dataclass(inner[0]):
        return [load(inner[0], entry) for entry in value]
    if get_origin(hint) is dict and is_dataclass(inner[1]):
        return {key: load(inner[1], entry) for key, entry in value.items()}
    return value
