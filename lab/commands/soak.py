"""`hakmem soak`: long runs of several allocators that take turns, epoch by epoch."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from lab import arguments, durations, lineup, programs, results, store
from lab.errors import AskedWrongly
from lab.progress import Progress, spoken_time
from lab.soak import sources, table
from lab.soak.files import Directory
from lab.soak.measure import measure
from lab.soak.outcome import Soak


def command(
    duration: Annotated[str, typer.Option(metavar="TIME", help="how long in all: 90s, 5m, 1h")] = "60m",
    epoch: Annotated[str, typer.Option(metavar="TIME", help="about how long an epoch of one allocator is")] = "10s",
    epoch_iters: Annotated[int, typer.Option(min=0, help="operations of an epoch, in place of --epoch")] = 0,
    model: Annotated[str, typer.Option(metavar=arguments.one_of(sources.MODELS), help="single: one process each; steps: a process per epoch")] = "single",
    allocator: Annotated[list[str] | None, typer.Option(*arguments.ALLOCATOR, metavar="NAME", help="who takes part, once for each (default: all)")] = None,
    ws: Annotated[int, typer.Option(min=1, help="slots of the workload")] = 400,
    profile: Annotated[str, typer.Option(metavar=arguments.one_of(lineup.PROFILES), help="HAKMEM_PROFILE of hakmem")] = "",
    out: Annotated[str, typer.Option(metavar="DIR", help="directory for CSV, plots and JSON (default: results/soak-DATE)")] = "",
    cpu: Annotated[str, typer.Option(metavar=arguments.CPU, help="the CPU that all share")] = "last",
    seed: Annotated[int, typer.Option(min=0, help="of the workload and of the order")] = 1,
    to_json: Annotated[str, typer.Option("--json", metavar="FILE", help="also as JSON; - is standard output")] = "",
    quiet: Annotated[bool, typer.Option(*arguments.QUIET, help="no progress bar")] = False,
) -> int:
    """Does an allocator stay as fast and as small as it began? Hours of the mixed workload, all of them in turn.

    Drift of the machine is not drift of an allocator: the column `against` compares with the others in the same epoch.
    Writes a CSV for each allocator, plots of throughput and memory, and JSON. Ctrl-C keeps all that was measured.
    """
    results.check(to_json)
    limit, length = durations.seconds(duration), durations.seconds(epoch, "--epoch")
    if model not in sources.MODELS:
        raise AskedWrongly(f"there is no model '{model}'", f"use one of: {', '.join(sources.MODELS)}")
    allocators, pinned = lineup.chosen(allocator, profile), lineup.cpu_of(cpu)
    if length > limit / len(allocators) and not epoch_iters:
        length = limit / len(allocators)
        said = spoken_time(length) if length >= 90 else f"{length:.2g} s"
        print(f"hakmem: epochs of {said}, not --epoch {epoch}: one of each is to fit in --duration {duration}", file=sys.stderr)
    driver = lineup.program(programs.MIXED)
    proofs = lineup.proven(sources.mixed(driver, 1, ws, seed), allocators)
    directory = Directory(Path(out) if out else None, [a.name for a in allocators], model)
    with directory as files, Progress(limit, quiet, label="soak") as progress:

        def on_epoch(soak: Soak, name: str) -> None:
            files.keep(soak, name)
            progress.say(_said(soak, name))

        soak = measure(
            model,
            driver,
            allocators,
            epoch_s=length,
            duration_s=limit,
            iterations=epoch_iters,
            working_set=ws,
            seed=seed,
            cpu=pinned,
            on_epoch=on_epoch,
        )
    soak.proofs = proofs
    options = {"duration_s": limit, "epoch_s": length, "epoch_iters": epoch_iters, "profile": profile}
    data = {**store.origin("soak"), "options": options, **soak.as_json()}
    try:  # the files first: a reader that goes away must not cost them, nor they the lines
        files.finish(soak, data)
    finally:
        results.give(table.lines(soak), data, to_json)
    if to_json != "-":
        print(f"written to {files.path}")
    if soak.interrupted:
        raise KeyboardInterrupt
    return 1 if soak.crashed else 0


def _said(soak: Soak, name: str) -> str:
    if name in soak.crashed:
        return f"{name} crashed"
    return f"{name} {soak.rows[name][-1].throughput_ops_s / 1e6:.1f} M ops/s, {soak.rows[name][-1].rss_mb:.1f} MB"
