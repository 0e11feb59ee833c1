"""`hakmem scorecard`: where hakmem stands against every other allocator, on one page.

The command finds the allocators (and makes the peers that are missing), says how long it will take, has the sections
measured (lab/scorecard/conduct.py), and writes the page, the Markdown and the stored record.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from lab import arguments, durations, files, lineup, peers, programs, results, store, workloads
from lab.errors import AskedWrongly, LabError
from lab.model import Allocator, Machine, Workload
from lab.progress import Progress, spoken_time
from lab.scorecard import changes, conduct, html, markdown, page, pictures
from lab.scorecard.card import FAILED, SECTIONS, Scorecard
from lab.scorecard.document import Document, Items
from lab.scorecard.findings import findings
from lab.scorecard.setting import Setting
from lab.spoken import counted

BUDGET, FULL_BUDGET = "14m", "60m"


def command(
    full: Annotated[bool, typer.Option("--full", help="an hour: half of it the long run, and real programs")] = False,
    peer: Annotated[list[str] | None, typer.Option(*arguments.PEER, metavar="NAME", help="only this peer: a name or a library (may be repeated)")] = None,
    subject: Annotated[str, typer.Option(metavar="NAME", help="the allocator that the page is about: a name or a library")] = "hakmem",
    budget: Annotated[str, typer.Option(metavar="TIME", help=f"time for measuring: 5m, 1h (default {BUDGET}, with --full {FULL_BUDGET})")] = "",
    section: Annotated[list[str] | None, typer.Option(metavar="SECTION", help=f"only this section: {', '.join(SECTIONS)} (may be repeated)")] = None,
    workload: Annotated[list[str] | None, typer.Option("--workload", "-w", metavar="NAME", help="only this workload (may be repeated)")] = None,
    group: Annotated[
        list[str] | None,
        typer.Option("--group", "-g", metavar="GROUP", help=f"only this group: {', '.join(workloads.every_group())} (may be repeated)"),
    ] = None,
    with_real: Annotated[bool, typer.Option("--real", help="the real programs as well; --full has them")] = False,
    build: Annotated[bool, typer.Option("--build/--no-build", help="make the peers that are missing")] = True,
    out: Annotated[str, typer.Option(metavar="DIR", help="where the page goes (default: results/scorecard-DATE)")] = "",
    store_file: Annotated[str, typer.Option("--store", metavar="FILE", help="where results are kept (default: results/scorecards.jsonl)")] = "",
    to_json: Annotated[str, typer.Option("--json", metavar="FILE", help="the result as JSON; - is standard output")] = "",
    cpu: Annotated[str, typer.Option(metavar=arguments.CPU, help="the CPU of workloads of one thread")] = "last",
    seed: Annotated[int, typer.Option(min=0, help="of the order of the runs")] = 0,
    quiet: Annotated[bool, typer.Option(*arguments.QUIET, help="no progress, no forecast")] = False,
) -> int:
    """One page that says where hakmem stands against all peers: speed, system calls, memory, long run, tail, start-up.

    Writes scorecard.html (one file, with plots) and scorecard.md with its plots beside it, and adds the result to a
    plain-text store, so that the next one can say what changed. Ctrl-C writes the page with what was measured until then.
    """
    results.check(to_json)
    seconds = durations.seconds(budget or (FULL_BUDGET if full else BUDGET), "--budget")
    unknown = [name for name in section or [] if name not in SECTIONS]
    if unknown:
        raise AskedWrongly(f"there is no section '{unknown[0]}'", f"use one of: {', '.join(SECTIONS)}")
    parts = conduct.shares(full, section or [])
    pinned = lineup.cpu_of(cpu)
    directory, kept = _directory(out), Path(store_file) if store_file else store.path_of(changes.KIND)
    if store_file:
        store.check(kept)
    files.check_apart([("--store", str(kept)), ("--json", "" if to_json == "-" else to_json)])
    allocators, missing = _allocators(subject, peer, build, quiet)
    chosen, skipped = _workloads(workload, group, with_real or (full and not (workload or group)), "speed" in parts)

    options: dict[str, Any] = {"budget_s": seconds, "full": full, "seed": seed, "sections": list(parts)}
    options |= {"workloads": len(chosen), "cpu": cpu}
    card = Scorecard(allocators[0].name, allocators, Machine.read(), store.commit(), options, missing)
    card.speed.skipped = skipped
    for name in SECTIONS:
        card.status[name].reason = "" if name in parts else "not asked for"
    directory = _make(directory, bool(out))
    setting = Setting(allocators, chosen, seed, full, pinned)
    if not quiet:
        _announce(card, chosen, seconds, parts)
    with Progress(seconds, quiet, label="scorecard") as progress:
        setting.tell = progress.say
        whole = conduct.conduct(card, setting, seconds, parts)
    _give(card, directory, kept, to_json)
    if not whole:
        raise KeyboardInterrupt
    return 1 if any(status.state == FAILED for status in card.status.values()) else 0


def _directory(out: str) -> Path:
    """Where the page goes. Raises LabError when what is there already does not let us write."""
    path = Path(out) if out else store.RESULTS / f"scorecard-{Machine.read().date[:19].replace(':', '')}"
    there = next(each for each in (path, *path.parents) if os.path.lexists(each))
    if not there.is_dir():
        raise _refused(path, f"{there} is no directory")
    if not os.access(there, os.W_OK | os.X_OK):
        raise _refused(path, "permission denied")
    return path


def _make(directory: Path, asked: bool) -> Path:
    """Made before an hour is measured, not after; and after all that could be asked wrongly, so that nothing empty stays."""
    try:
        if asked:
            directory.mkdir(parents=True, exist_ok=True)
        else:
            directory = files.fresh(directory)
        (directory / "scorecard.html").touch()
    except OSError as error:
        raise _refused(directory, error.strerror or "") from None
    return directory


def _refused(directory: Path, why: str) -> LabError:
    return LabError(f"cannot write in {directory}: {why}", "choose another directory with --out")


def _allocators(subject: str, names: Sequence[str] | None, build: bool, quiet: bool) -> tuple[list[Allocator], dict[str, str]]:
    """(the subject and its peers, the peers that cannot be had with the reason)."""
    if subject == "hakmem":
        programs.library()
    first = peers.find(subject)
    missing: dict[str, str] = {}
    found: list[Allocator] = []
    if names:
        by_path = [name for name in names if "/" in name or name.endswith(".so") or name.startswith("hakmem")]
        found += [peers.find(name) for name in by_path]
        recipes = [name for name in names if name not in by_path and name not in peers.GLIBC_NAMES]
    else:
        recipes = [recipe.name for recipe in peers.RECIPES]
    if recipes:
        made, missing = _made(recipes, build, quiet)
        found += made
    if not names or any(name in peers.GLIBC_NAMES for name in names):
        found.append(peers.glibc())
    others = [each for each in found if each.path != first.path]
    if not others and names and not missing:
        raise AskedWrongly(f"there is nothing to compare with: {first.name} is the subject itself", "name another --peer, or another --subject")
    if not others:
        raise LabError("there is nothing to compare with", "`hakmem peers` makes other allocators")
    if len({each.name for each in [first, *others]}) <= len(others):
        raise AskedWrongly("two allocators have the same name", "name a library yourself: --peer label=/path/to/library.so")
    return [first, *others], missing


def _made(names: Sequence[str], build: bool, quiet: bool) -> tuple[list[Allocator], dict[str, str]]:
    if not build:
        shelf = {recipe: peers.shelf.read(recipe) for recipe in map(peers.recipe_of, names)}
        here = [allocator for allocator in shelf.values() if allocator]
        return here, {recipe.name: "not built" for recipe, allocator in shelf.items() if not allocator}
    total = sum(peers.recipe_of(name).seconds for name in names)
    with Progress(total, quiet, unit="of work", label="peers") as progress:
        done = peers.get(list(names), lambda step: progress.to(total - step.left_s, f"{step.state} {step.name}"))
    return [each.allocator for each in done if each.allocator], {each.name: each.reason for each in done if not each.allocator}


def _workloads(
    names: list[str] | None, groups: list[str] | None, real: bool, wanted: bool
) -> tuple[list[Workload], dict[str, str]]:
    if not wanted:
        return [], {}
    skipped: list[workloads.Skipped] = []
    chosen = workloads.choose(names or [], groups or [], real, "short", skipped)
    packages = {each.name: f" (Debian package {each.package})" if each.package else "" for each in skipped}
    return chosen, {each.name: each.reason + packages[each.name] for each in skipped}


def _announce(card: Scorecard, chosen: Sequence[Workload], seconds: float, parts: dict[str, float]) -> None:
    """The forecast."""
    each = ", ".join(f"{SECTIONS[name].lower()} {spoken_time(part)}" for name, part in conduct.forecast(seconds, parts).items())
    names = ", ".join(allocator.name for allocator in card.allocators)
    lines = [
        f"a scorecard of {names}" + (f" on {counted(len(chosen), 'workload')}" if chosen else ""),
        f"it takes about {spoken_time(seconds)}: {each}; Ctrl-C writes what is there by then",
        *(f"{name} cannot be had: {why}" for name, why in card.missing.items()),
    ]
    for line in lines:
        print(f"hakmem: {line}", file=sys.stderr)


def _give(card: Scorecard, directory: Path, kept: Path, to_json: str) -> None:
    """Stores the result, writes the JSON and the page, and says what it says: each also when another cannot be written.

    A store that cannot be written costs only a warning.
    """
    record = store.Record.now(changes.KIND, asdict(card), card.options, card.machine)
    document = page.write(card, record.date.replace("T", " ")[:16] + " UTC", *_earlier(card, kept))
    try:
        store.append(record, kept)
    except LabError as error:
        print(error.text(), file=sys.stderr)
    try:
        if to_json:
            results.give([], store.plain(asdict(record)), to_json)
    finally:
        try:
            _write(document, directory)
        finally:
            if to_json != "-":
                print("\n".join(_said(document, card, directory)))


def _write(document: Document, directory: Path) -> None:
    try:
        (directory / "scorecard.html").write_text(html.write(document), encoding="utf-8")
        (directory / "scorecard.md").write_text(markdown.write(document), encoding="utf-8")
        for figure, name in pictures.names(document).items():
            (directory / name).write_text(pictures.standalone(figure), encoding="utf-8")
    except OSError as error:
        raise _refused(directory, error.strerror or "") from None


def _earlier(card: Scorecard, kept: Path) -> tuple[list[changes.Earlier], str]:
    """What changes.earlier says, or why nothing is said."""
    try:
        return changes.earlier(kept, card)
    except LabError as error:
        return [], error.message


def _said(document: Document, card: Scorecard, directory: Path) -> list[str]:
    """The answer on standard output."""
    lines = [line for block in document.blocks[:1] if isinstance(block, Items) for line in block.items]
    lost = [finding for finding in findings(card) if not finding.wins]
    lines += [f"  loses: {each.what}: {each.ours}; best: {each.best}" for each in lost]
    return [*lines, f"page: {directory / 'scorecard.html'}", f"text: {directory / 'scorecard.md'}"]
