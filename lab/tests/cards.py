"""A scorecard of which everything is known: who wins where, by how much, and which bars are met."""

from __future__ import annotations

from lab.model import Allocator, Machine
from lab.scorecard.card import (
    DONE,
    Against,
    Calls,
    CallsRow,
    LongRun,
    LongRunRow,
    Memory,
    MemoryRow,
    Scorecard,
    Speed,
    SpeedRow,
    Startup,
    StartupRow,
    Status,
    Tail,
    TailRow,
)

MACHINE = Machine("A CPU", 2, "6.1", "madvise", "", 4000, "glibc 2.36", "gcc 12", "2026-01-01T10:00:00+00:00")
PEERS = ("mimalloc2", "mimalloc3", "glibc")


def allocator(name: str) -> Allocator:
    family = name.rstrip("23")
    path = None if name == "glibc" else f"/lib{name}.so"
    return Allocator(name, path, "1.0", "a registry", family)


def against(peer: str, ratio: float, half: float = 0.01, blocks: int = 20, value: float = 50e6, rss_mb: float = 3.0) -> Against:
    return Against(peer, ratio, ratio - half, ratio + half, blocks, value, value, rss_mb, 0.2 * ratio)


def row(name: str, entries: list[Against], rss_mb: float = 3.0, **more: object) -> SpeedRow:
    values = {"metric": "cpu", "value": 60e6, "mean": 60e6, "cv": 1.0, "cpu_s": 0.2, "rss_mb": rss_mb} | more
    return SpeedRow(name, f"what of {name}", "mixed", "a benchmark", "ops/s", 1, against=entries, **values)  # type: ignore[arg-type]


def soak(name: str, speed: float, wobble: float, drift_mb: float = 0.0, **figures: float) -> LongRunRow:
    speeds = [speed * (1 + wobble * (-1) ** i) for i in range(12)]
    memory = [2.0 + drift_mb * i / 11 for i in range(12)]
    values = {"drift": 0.4, "relative_drift": 0.1, "cv": 100 * wobble, "relative_cv": 50 * wobble, "rss_drift": 50 * drift_mb}
    values |= {"p99_to_p50": 1 + 2 * wobble, "latency_cv": 100 * wobble} | figures
    return LongRunRow(name, speeds, memory, [i / 6 for i in range(12)], **values)  # type: ignore[arg-type]


def tail_row(name: str, malloc: list[float], free: list[float], spread: float = 0.01) -> TailRow:
    ns = {"malloc": malloc, "free": free}
    runs = {call: [[value * (1 + spread * i) for value in values] for i in (-1, 0, 1)] for call, values in ns.items()}
    return TailRow(name, ns, runs, 3_000_000)


def speed() -> Speed:
    """Ahead on mixed_400, behind on tree, level on larson, too noisy on leak, too few on huge, crashed on tail_merge."""
    return Speed(
        [
            row("mixed_400", [against("mimalloc3", 1.10), against("mimalloc2", 1.12), against("glibc", 1.5)], rss_mb=1.0),
            row("tree", [against("mimalloc2", 0.80, 0.03), against("mimalloc3", 0.9, 0, 0), against("glibc", 1.4, 0, 0)]),
            row("larson", [against("glibc", 1.001, 0.004)]),
            row("leak", [against("mimalloc3", 1.02, 0.05)], rss_mb=9.0),
            row("huge", [against("mimalloc3", 0.70, 0.02, 3)]),
            row("crasher", [], failures={"hakmem": "crasher on hakmem was killed by signal 11"}),
        ],
        {"redis": "there is no redis-server"},
    )


def card() -> Scorecard:
    """The whole card: a drift of memory that misses its bar, and system calls that meet theirs but not the aim."""
    found = Scorecard("hakmem", [allocator(name) for name in ("hakmem", *PEERS)], MACHINE, "abc123", {"budget_s": 840})
    found.missing = {"snmalloc": "no C++ compiler"}
    found.status = {name: Status(DONE, "", 10.0, 12.0) for name in found.status}
    found.speed = speed()
    rows = [CallsRow("hakmem", 5, 1, {"mmap": 5, "munmap": 1}), CallsRow("glibc", 4, 0, {"brk": 4})]
    found.calls = Calls(200_000_000, 400, {"mmap": 17, "brk": 1}, rows)
    profiles = [MemoryRow("hakmem", name, peak, peak, peak, 5) for name, peak in (("speed", 2.1), ("balanced", 2.0), ("lean", 11.0))]
    found.memory = Memory([*profiles, MemoryRow("glibc", "", 1.8, 1.8, 1.5, 5)])
    rows_of_soak = [soak("hakmem", 60e6, 0.01, 0.3), soak("mimalloc3", 50e6, 0.03), soak("glibc", 40e6, 0.04, drift=-7.0)]
    found.long_run = LongRun(1.0, 50_000_000, 400, 120.0, rows_of_soak)
    calls = [tail_row("hakmem", [10, 20, 30, 100, 800, 9e5], [14, 20, 30, 90, 2000, 5e5])]
    calls += [tail_row("mimalloc3", [20, 30, 60, 110, 900, 8e5], [9, 20, 31, 95, 700, 1e5])]
    found.tail = Tail([50.0, 90.0, 99.0, 99.9, 99.99, 100.0], 400, 33.0, [0, 7, 13, 36, 180, 4e6], calls)
    starts = [StartupRow("glibc", 600, 0, 0, 0, 58, 1.0, 29), StartupRow("hakmem", 700, 100, 90, 110, 70, 1.1, 39)]
    found.startup = Startup("/bin/true", 40, [*starts, StartupRow("mimalloc3", 860, 260, 240, 280, 87, 1.5, None)])
    return found
