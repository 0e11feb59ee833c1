"""`hakmem soak`: long runs of several allocators that take turns, epoch by epoch."""

from __future__ import annotations

import contextlib
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated

import typer

from lab import durations, lineup, programs, results
from lab.errors import AskedWrongly
from lab.model import Allocator
from lab.progress import Progress
from lab.soak import sources, table
from lab.soak.files import Directory
from lab.soak.outcome import Soak
from lab.soak.rounds import rounds

ROOT = Path(__file__).resolve().parents[2]
LATE = 20  # an epoch may take so many times what it was meant to


def command(
    duration: Annotated[str, typer.Option(help="how long in all: 90s, 5m, 1h")] = "60m",
    epoch: Annotated[str, typer.Option(help="about how long an epoch of one allocator is")] = "10s",
    epoch_iters: Annotated[int, typer.Option(min=0, help="operations of an epoch, in place of --epoch")] = 0,
    model: Annotated[str, typer.Option(help="single: one process each; steps: a process per epoch")] = "single",
    allocator: Annotated[list[str] | None, typer.Option(help="who takes part, once for each (default: all)")] = None,
    ws: Annotated[int, typer.Option(min=1, help="slots of the workload")] = 400,
    profile: Annotated[str, typer.Option(help="HAKMEM_PROFILE of hakmem: speed, balanced, lean")] = "",
    out: Annotated[str, typer.Option(help="directory for CSV, plots and JSON (default: results/soak-DATE)")] = "",
    cpu: Annotated[str, typer.Option(help="the CPU that all share: its number, last, or any")] = "last",
    seed: Annotated[int, typer.Option(min=0, help="of the workload and of the order")] = 1,
    to_json: Annotated[str, typer.Option("--json", metavar="FILE", help="also as JSON; - is standard output")] = "",
    quiet: Annotated[bool, typer.Option("--quiet", help="no progress bar")] = False,
) -> int:
    """Does an allocator stay as fast and as small as it began? Hours of the mixed workload, all of them in turn.

    Drift of the machine is not drift of an allocator: the column `against` compares with the others in the same epoch.
    Writes a CSV for each allocator, plots of throughput and memory, and JSON. Ctrl-C keeps all that was measured.
    """
    limit, length = durations.seconds(duration), durations.seconds(epoch, "--epoch")
    if model not in sources.MODELS:
        raise AskedWrongly(f"there is no model '{model}'", f"use one of: {', '.join(sources.MODELS)}")
    allocators, pinned = lineup.chosen(allocator, profile), lineup.cpu_of(cpu)
    driver = lineup.program(programs.MIXED)
    probe = sources.mixed(driver, 1, ws, seed)
    proofs = lineup.proven(probe, allocators)
    iterations = epoch_iters or sources.epoch_length(probe, allocators, length, pinned)
    soak = Soak(model, allocators, iterations, ws, seed, pinned, proofs=proofs)
    with Directory(Path(out) if out else _directory(), [a.name for a in allocators], model) as files:
        _run(soak, driver, limit, max(600.0, LATE * length), files, quiet)
        files.finish(soak)
    results.give([*table.lines(soak), f"written to {files.path}"], soak.as_json(), to_json)
    if soak.interrupted:
        raise KeyboardInterrupt
    return 1 if soak.crashed else 0


def _directory() -> Path:
    return ROOT / "results" / f"soak-{datetime.now(timezone.utc):%Y%m%d-%H%M%S}"


def _run(soak: Soak, driver: str, limit: float, timeout: float, files: Directory, quiet: bool) -> None:
    """Takes epochs until the time is over or Ctrl-C comes, and keeps each."""
    workload = sources.mixed(driver, soak.iterations, soak.working_set, soak.seed)

    def source(allocator: Allocator) -> sources.Source:
        return sources.MODELS[soak.model](workload, allocator, soak.cpu, timeout)

    began = time.monotonic()
    taken = rounds({a.name: source(a) for a in soak.allocators}, limit, soak.seed)
    with Progress(limit, quiet, label="soak") as progress, contextlib.closing(taken):
        try:
            for name, row in taken:
                soak.add(name, row, time.monotonic() - began)
                if name not in soak.crashed:
                    files.row(name, row)
                progress.say(_said(soak, name))
        except KeyboardInterrupt:
            soak.interrupted = True


def _said(soak: Soak, name: str) -> str:
    if name in soak.crashed:
        return f"{name} crashed"
    return f"{name} {soak.rows[name][-1].throughput_ops_s / 1e6:.1f} M ops/s, {soak.rows[name][-1].rss_mb:.1f} MB"
