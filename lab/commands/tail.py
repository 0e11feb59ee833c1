"""`hakmem tail`: how long single calls take, at every percentile, and how long the slow epochs are."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from lab import arguments, curves, durations, files, lineup, programs, results, steadiness, store, tail, tail_table
from lab.curves import Chart, draw
from lab.model import Workload
from lab.progress import Progress
from lab.soak import sources
from lab.soak.measure import measure
from lab.soak.outcome import Soak

SECONDS_PER_STEP = 150e-9


def command(
    runs: Annotated[int, typer.Option(min=1, help="runs of each allocator, merged")] = 20,
    iters: Annotated[int, typer.Option(min=1, help="timed calls of a run")] = 2_000_000,
    epochs: Annotated[int, typer.Option(min=0, help="epochs of each allocator for the epoch proxy; 0: without")] = 20,
    epoch: Annotated[str, typer.Option(metavar="TIME", help="about how long an epoch is")] = "1s",
    allocator: Annotated[list[str] | None, typer.Option(*arguments.ALLOCATOR, metavar="NAME", help="who takes part, once for each (default: all)")] = None,
    ws: Annotated[int, typer.Option(min=1, help="slots of the workload")] = 400,
    profile: Annotated[str, typer.Option(metavar=arguments.one_of(lineup.PROFILES), help="HAKMEM_PROFILE of hakmem")] = "",
    plot: Annotated[
        str, typer.Option(metavar="FILE", help="percentile curves: .svg, .png or .pdf, else .svg and .png; %s in it is malloc or free")
    ] = "",
    cpu: Annotated[str, typer.Option(metavar=arguments.CPU, help="the CPU that all share")] = "last",
    seed: Annotated[int, typer.Option(min=0, help="of the workload and of the order")] = 1,
    to_json: Annotated[str, typer.Option("--json", metavar="FILE", help="also as JSON; - is standard output")] = "",
    quiet: Annotated[bool, typer.Option(*arguments.QUIET, help="no progress bar")] = False,
) -> int:
    """How slow is the slowest call in a hundred, in ten thousand? malloc and free of the mixed workload, one by one.

    Runs are interleaved and merged; the clock's own cost is taken off, and its own tail is shown as the row `clock`.
    Then the contract's proxy: the tail of the throughput of epochs. Ctrl-C keeps all that was measured.
    """
    if Path(plot).suffix:
        files.check_picture(plot)
    results.check(to_json, *(("--plot", str(path)) for place in _places(plot).values() for path in curves.places(place)))
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
        proxy = Soak("single", [], 0, ws, seed)
        if epochs and left and not calls.interrupted:
            proxy = measure(
                "single",
                epoch_driver,
                left,
                epoch_s=length,
                most=epochs,
                working_set=ws,
                seed=seed,
                cpu=pinned,
                on_epoch=lambda soak, name: progress.say(f"epochs: {name}, {len(soak.rows.get(name, []))} of {epochs}"),
            )
    lines = [*tail_table.calls(calls), *(tail_table.epochs(proxy.throughput(), [a.name for a in left]) if epochs else [])]
    calls.crashed |= proxy.crashed
    calls.interrupted |= proxy.interrupted
    lines += [f"CRASHED: {message}" for message in calls.crashed.values()]
    drawn: list[str] = []
    try:  # the files first: a reader that goes away must not cost them, nor they the lines
        drawn = _plots(calls, plot)
    finally:
        options = {"runs": runs, "iters": iters, "epochs": epochs, "epoch_s": length, "ws": ws, "profile": profile, "cpu": pinned, "seed": seed}
        sides = [asdict(allocator) for allocator in allocators]
        data = {**store.origin("tail"), "options": options, "sides": sides, **calls.as_json(), **_epochs(proxy)}
        results.give(lines, data, to_json)
    for line in drawn:
        print(line, file=sys.stderr if to_json == "-" else sys.stdout)
    if calls.interrupted:
        raise KeyboardInterrupt
    return 1 if calls.crashed else 0


def _epochs(proxy: Soak) -> dict[str, Any]:
    speeds = {name: proxy.throughput()[name] for name in proxy.names()}
    figures = {name: asdict(steadiness.EpochTail.of(values)) for name, values in speeds.items()}
    return {"epoch_percents": steadiness.PERCENTS, "epochs": figures, "epoch_throughput_ops_s": speeds}


def _places(pattern: str) -> dict[str, Path]:
    """Where the curves of malloc and of free go: %s, or what stands before the ending, says which of them they are."""
    named = pattern if "%s" in pattern else "-%s".join(os.path.splitext(pattern))
    return {what: Path(named.replace("%s", what)) for what in tail.CALLS if pattern}


def _plots(calls: tail.Calls, pattern: str) -> list[str]:
    """Draws the curves of malloc and of free; says where they are."""
    if not pattern or not calls.measured():
        return []
    written = []
    for what, path in _places(pattern).items():
        lines = {one.name: tail.curve(one.merged(what)) for one in calls.measured()}
        lines["clock"] = tail.curve(calls.clock())
        title = f"Latency of {what}, mixed workload, WS={calls.working_set}"
        written += draw(Chart(title, "one call in ...", "time of a call", logarithmic=True, y_as=durations.short), lines, path)
    return [f"written to {', '.join(map(str, written))}"]
