"""`hakmem bench`: the mixed workload and the suite, hakmem against every allocator that is installed."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Annotated

import typer

from lab import arguments, bench_tables, campaign, durations, peers, programs, real, results, store, workloads
from lab.campaign import Campaign, Result
from lab.errors import AskedWrongly, LabError
from lab.model import Allocator, Workload
from lab.pairs import Comparison
from lab.progress import Progress, spoken_time
from lab.spoken import counted
from lab.statistics import MINIMUM_BLOCKS
from lab.suite import SCALES
from lab.workloads import Skipped


def command(
    workload: Annotated[list[str] | None, typer.Option("--workload", "-w", metavar="NAME", help="only this workload (may be repeated)")] = None,
    group: Annotated[
        list[str] | None,
        typer.Option("--group", "-g", metavar="GROUP", help=f"only this group: {', '.join(workloads.every_group())} (may be repeated)"),
    ] = None,
    peer: Annotated[
        list[str] | None, typer.Option(*arguments.PEER, metavar="NAME", help="only this allocator: a name or a library (may be repeated)")
    ] = None,
    reference: Annotated[str, typer.Option(metavar="NAME", help="what the others are compared with: a name or a library")] = "hakmem",
    pairs: Annotated[int | None, typer.Option(min=1, help="blocks of each workload (10 when no budget is given)")] = None,
    budget: Annotated[str, typer.Option(metavar="TIME", help="time for everything: 90s, 5m, 1h")] = "",
    size: Annotated[str, typer.Option(metavar=arguments.one_of(SCALES), help="length of a run")] = "short",
    with_real: Annotated[bool, typer.Option("--real", help="the real programs as well")] = False,
    install: Annotated[bool, typer.Option("--install", help="install what real programs need, from Debian")] = False,
    only_list: Annotated[bool, typer.Option("--list", help="list workloads and allocators; measure nothing")] = False,
    to_json: Annotated[str, typer.Option("--json", metavar="FILE", help="every run as JSON; - is standard output")] = "",
    seed: Annotated[int, typer.Option(help="of the order of the runs")] = 0,
    quiet: Annotated[bool, typer.Option(*arguments.QUIET, help="no progress, and no table for each workload")] = False,
) -> int:
    """The mixed workload and the suite against every installed allocator: ratios of speed with intervals, and memory.

    Runs are short and interleaved; a ratio is the median over blocks, with its 95 % interval. Ctrl-C keeps what was
    measured. `hakmem peers` makes the allocators to compare with.
    """
    seconds = durations.seconds(budget, "--budget") if budget else None
    out = bench_tables.console(to_stderr=to_json == "-")
    if only_list:
        _list(out, to_json)
        return 0
    chosen, skipped = _workloads(workload or [], group or [], with_real, size, install, out)
    allocators = _allocators(reference, peer or [])
    results.check(to_json)
    blocks = pairs or (1000 if seconds else MINIMUM_BLOCKS)
    _announce(chosen, allocators, seconds, blocks, quiet)
    done = _measured(chosen, allocators, seconds, blocks, pairs is None and seconds is not None, seed, quiet, out)
    try:  # the file first: a reader that goes away must not cost it, nor it the tables
        if to_json:
            options = {"size": size, "budget_s": seconds, "pairs": pairs, "seed": seed}
            _write_json(to_json, done, skipped, options)
    finally:
        _print_summary(done, skipped, len(chosen), out)
    return 130 if done.interrupted else 0


def _workloads(
    names: list[str], groups: list[str], with_real: bool, size: str, install: bool, out: bench_tables.Console
) -> tuple[list[Workload], list[Skipped]]:
    skipped: list[Skipped] = []
    chosen = workloads.choose(names, groups, with_real, size, skipped)
    packages = sorted({each.package for each in skipped if each.package})
    if install and packages:
        real.install(packages)
        skipped.clear()
        chosen = workloads.choose(names, groups, with_real, size, skipped)
    if not chosen:
        _print_skipped(skipped, out)
        raise LabError("nothing is left to measure", "--install installs what is missing")
    return chosen, skipped


def _allocators(reference: str, names: list[str]) -> list[Allocator]:
    """The reference, then the others: those that are named, or every installed one of another family."""
    if reference == "hakmem":
        programs.library()
    first = peers.find(reference)
    others = [peers.find(name) for name in names] or [each for each in peers.installed() if each.family != "hakmem"]
    others = [each for each in others if each.path != first.path]
    if len({each.name for each in [first, *others]}) <= len(others):
        raise AskedWrongly("two allocators have the same name", "name a library yourself: --peer label=/path/to/library.so")
    if not others and names:
        raise AskedWrongly(f"there is nothing to compare with: {first.name} is the reference itself", "name another --peer, or another --reference")
    if not others:
        raise LabError("there is nothing to compare with", "`hakmem peers` makes other allocators")
    return [first, *others]


def _announce(chosen: list[Workload], allocators: list[Allocator], seconds: float | None, blocks: int, quiet: bool) -> None:
    if quiet:
        return
    time = seconds or campaign.forecast_s(chosen, len(allocators), blocks)
    words = f"{counted(len(chosen), 'workload')} on {', '.join(each.name for each in allocators)}: about {spoken_time(time)}"
    print(f"hakmem: {words}; Ctrl-C keeps what was measured", file=sys.stderr)
    if all(each.family in ("hakmem", "glibc") for each in [*allocators, *peers.installed()]):
        print("hakmem: no peer but glibc is here: `hakmem peers` makes them", file=sys.stderr)


def _measured(
    chosen: list[Workload],
    allocators: list[Allocator],
    seconds: float | None,
    blocks: int,
    may_stop: bool,
    seed: int,
    quiet: bool,
    out: bench_tables.Console,
) -> Campaign:
    # Without a budget the bar counts runs, so that what is left follows the speed of the machine.
    total = seconds or campaign.forecast_s(chosen, len(allocators), blocks)
    with Progress(total, quiet, unit="s" if seconds else "of work", label="bench") as progress:

        def step(workload: Workload, comparison: Comparison | None) -> None:
            before = campaign.forecast_s(chosen[: chosen.index(workload)], len(allocators), blocks)
            progress.to(before + campaign.work_s(comparison), f"{workload.name}: {_blocks(comparison)}")

        def show(result: Result) -> None:
            # On one terminal a table must not be printed into the bar.
            text = bench_tables.as_text(bench_tables.workload_table(result, allocators[0].name), out.width)
            if progress.shown and out.is_terminal:
                progress.note(text)
            elif not quiet:
                out.print(text, markup=False)

        try:
            campaign.prove(chosen, allocators, progress.say)
        except KeyboardInterrupt:
            return Campaign(allocators[0].name, allocators, interrupted=True)
        return campaign.measure(
            chosen,
            allocators,
            budget_s=seconds,
            blocks=blocks,
            precision=campaign.PRECISION if may_stop else None,
            seed=seed,
            on_step=step,
            on_result=show,
        )


def _blocks(comparison: Comparison | None) -> str:
    done = len(comparison.blocks) if comparison else 0
    return counted(done, "block")


def _print_summary(done: Campaign, skipped: list[Skipped], asked: int, out: bench_tables.Console) -> None:
    out.print(bench_tables.summary_table(done))
    out.print(bench_tables.means_table(done))
    _print_skipped(skipped, out)
    missing = asked - sum(result.told for result in done.results)
    if missing:
        why = "interrupted" if done.interrupted else "the time was up"
        out.print(f"{missing} of {counted(asked, 'workload')} {'was' if missing == 1 else 'were'} not measured: {why}")
    elif done.interrupted:
        out.print("interrupted in the last workload")


def _print_skipped(skipped: list[Skipped], out: bench_tables.Console) -> None:
    for each in skipped:
        fix = f" (the Debian package {each.package} has it; --install installs it)" if each.package else ""
        out.print(f"{each.name} was skipped: {each.reason}{fix}", markup=False)


def _list(out: bench_tables.Console, to_json: str) -> None:
    results.check(to_json)
    rows = [(row.group, row.name, row.threads, row.question, row.after) for row in workloads.ROWS]
    for program in workloads.PROGRAMS:
        missing = [name for name in program.tools if not real.tool(name)]
        state = f"not here: package {program.package}" if missing else "a real program"
        rows.append((workloads.REAL, program.name, None, program.question, state))
    installed = peers.installed()
    if to_json:
        named = [dict(zip(("group", "name", "threads", "question", "after"), row, strict=True)) for row in rows]
        results.put({"workloads": named, "allocators": [asdict(each) for each in installed]}, to_json)
    if to_json == "-":
        return
    table = bench_tables.listing()
    for group, name, threads, *words in rows:
        table.add_row(group, name, str(threads or ""), *words)
    out.print(table)
    out.print("allocators here: " + ", ".join(each.name for each in installed), markup=False)


def _write_json(target: str, done: Campaign, skipped: list[Skipped], options: dict[str, object]) -> None:
    values = {
        **store.origin("bench"),
        "options": options,
        "skipped": [asdict(each) for each in skipped],
        **campaign.as_json(done),
    }
    text = json.dumps(values, indent=1)
    if target == "-":
        print(text)
    else:
        results.write(target, text + "\n")
