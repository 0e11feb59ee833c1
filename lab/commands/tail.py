"""`hakmem tail`: how long single calls take, at every percentile, and how long the slow epochs are."""

from __future__ import annotations

import contextlib
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from lab import durations, lineup, programs, results, steadiness, tail, tail_table
from lab.curves import Chart, draw
from lab.errors import CrashError
from lab.model import Allocator, Workload
from lab.progress import Progress
from lab.soak import sources
from lab.soak.rounds import rounds

SECONDS_PER_STEP = 150e-9
LATE_S = 600.0


def command(
    runs: Annotated[int, typer.Option(min=1, help="runs of each allocator, merged")] = 20,
    iters: Annotated[int, typer.Option(min=1, help="timed calls of a run")] = 2_000_000,
    epochs: Annotated[int, typer.Option(min=0, help="epochs of each allocator for the epoch proxy; 0: without")] = 20,
    epoch: Annotated[str, typer.Option(help="about how long an epoch is")] = "1s",
    allocator: Annotated[list[str] | None, typer.Option(help="who takes part, once for each (default: all)")] = None,
    ws: Annotated[int, typer.Option(min=1, help="slots of the workload")] = 400,
    profile: Annotated[str, typer.Option(help="HAKMEM_PROFILE of hakmem: speed, balanced, lean")] = "",
    plot: Annotated[str, typer.Option(help="percentile curves as FILE.svg and FILE.png; %s is malloc or free")] = "",
    cpu: Annotated[str, typer.Option(help="the CPU that all share: its number, last, or any")] = "last",
    seed: Annotated[int, typer.Option(min=0, help="of the workload and of the order")] = 1,
    to_json: Annotated[str, typer.Option("--json", metavar="FILE", help="also as JSON; - is standard output")] = "",
    quiet: Annotated[bool, typer.Option("--quiet", help="no progress bar")] = False,
) -> int:
    """How slow is the slowest call in a hundred, in ten thousand? malloc and free of the mixed workload, one by one.

    Runs are interleaved and merged; the clock's own cost is taken off, and its own tail is shown as the row `clock`.
    Then the contract's proxy: the tail of the throughput of epochs. Ctrl-C keeps all that was measured.
    """
    length = durations.seconds(epoch, "--epoch")
    allocators, pinned = lineup.chosen(allocator, profile), lineup.cpu_of(cpu)
    call_driver, epoch_driver = lineup.program(programs.TAIL), lineup.program(programs.MIXED)
    lineup.proven(Workload("tail_mixed", "", [call_driver, "1", str(ws), str(seed), "/dev/null"]), allocators)
    lineup.proven(sources.mixed(epoch_driver, 1, ws, seed), allocators)

    total = len(allocators) * (runs * iters * SECONDS_PER_STEP + epochs * length)
    with Progress(total, quiet, label="tail") as progress:
        calls = tail.measure(
            call_driver,
            allocators,
            runs=runs,
            iterations=iters,
            working_set=ws,
            seed=seed,
            cpu=pinned,
            on_progress=lambda name, done: progress.say(f"single calls: {name}, run {done + 1}"),
        )
        left = [a for a in allocators if a.name not in calls.crashed]
        proxy = _Proxy(ws, seed, pinned)
        if epochs and left and not calls.interrupted:
            proxy.measure(epoch_driver, left, epochs, length, progress)
    lines = [*tail_table.calls(calls), *tail_table.epochs(proxy.speeds), *_crashes(calls.crashed | proxy.crashed)]
    lines += _plots(calls, plot)
    results.give(lines, calls.as_json() | proxy.as_json(), to_json)
    if calls.interrupted or proxy.interrupted:
        raise KeyboardInterrupt
    return 1 if calls.crashed or proxy.crashed else 0


class _Proxy:
    """Throughput of interleaved epochs, by allocator."""

    def __init__(self, working_set: int, seed: int, cpu: int | None) -> None:
        self.working_set, self.seed, self.cpu = working_set, seed, cpu
        self.speeds: dict[str, list[float]] = {}
        self.crashed: dict[str, str] = {}
        self.interrupted = False

    def measure(
        self, driver: str, allocators: list[Allocator], epochs: int, length: float, progress: Progress
    ) -> None:
        """Takes `epochs` epochs of about `length` seconds of each, in turn."""
        probe = sources.mixed(driver, 1, self.working_set, self.seed)
        iterations = sources.epoch_length(probe, allocators, length, self.cpu)
        workload = sources.mixed(driver, iterations, self.working_set, self.seed)
        self.speeds = {a.name: [] for a in allocators}
        long_runs = {a.name: sources.LongRun(workload, a, self.cpu, LATE_S) for a in allocators}
        with contextlib.closing(rounds(long_runs, float("inf"), self.seed)) as taken:
            try:
                for name, row in taken:
                    if isinstance(row, CrashError):
                        self.crashed[name] = row.message
                        continue
                    self.speeds[name].append(row.throughput_ops_s)
                    progress.say(f"epochs: {name}, {len(self.speeds[name])} of {epochs}")
                    if all(len(self.speeds[a.name]) >= epochs for a in allocators if a.name not in self.crashed):
                        return
            except KeyboardInterrupt:
                self.interrupted = True

    def as_json(self) -> dict[str, Any]:
        measured = {name: speeds for name, speeds in self.speeds.items() if speeds}
        figures = {name: asdict(steadiness.EpochTail.of(speeds)) for name, speeds in measured.items()}
        return {"epoch_percents": steadiness.PERCENTS, "epochs": figures, "epoch_throughput_ops_s": self.speeds}


def _crashes(crashed: dict[str, str]) -> list[str]:
    return [f"CRASHED: {message}" for message in crashed.values()]


def _plots(calls: tail.Calls, pattern: str) -> list[str]:
    """Draws the curves of malloc and of free; says where they are."""
    if not pattern or not calls.measured():
        return []
    written = []
    for what in tail.CALLS:
        name = pattern.replace("%s", what) if "%s" in pattern else f"{pattern}-{what}"
        path = Path(name).with_suffix("") if name.endswith((".svg", ".png")) else Path(name)
        lines = {one.name: tail.curve(one.merged(what)) for one in calls.measured()}
        lines["clock"] = tail.curve(calls.clock())
        title = f"Latency of {what}, mixed workload, WS={calls.working_set}"
        written += draw(Chart(title, "one call in ...", "ns", logarithmic=True), lines, path)
    return [f"written to {', '.join(map(str, written))}"]
