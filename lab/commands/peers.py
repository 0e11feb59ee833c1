"""`hakmem peers`: which allocators are here, which versions, from where; and makes the missing ones."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from lab import arguments, peers, results
from lab.errors import AskedWrongly, LabError
from lab.peers import PeerResult, Step
from lab.peers.recipe import Recipe
from lab.progress import Progress


def command(
    names: Annotated[list[str] | None, typer.Argument(help="only these peers (default: all)", metavar="[NAME]...", show_default=False)] = None,
    build: Annotated[bool, typer.Option("--build/--no-build", help="make the peers that are missing, or only look")] = True,
    again: Annotated[bool, typer.Option("--again", help="make them even when they are there")] = False,
    to_json: Annotated[str, typer.Option("--json", metavar="FILE", help="also as JSON; - is standard output")] = "",
    quiet: Annotated[bool, typer.Option(*arguments.QUIET, help="no progress bar")] = False,
) -> None:
    """The allocators to compare with: builds or installs what is missing, and says which versions are here.

    A peer that cannot be had is a row with the reason; that is an error (exit status 1) only when it was asked for by
    its name.
    """
    if again and not build:
        raise AskedWrongly("--again makes peers anew, and --no-build makes none", "leave one of them out")
    results.check(to_json)
    known = [name for name in names or [] if name not in peers.GLIBC_NAMES]
    wanted = list(dict.fromkeys(peers.recipe_of(name) for name in known)) if names else peers.RECIPES
    found = _made(wanted, again, quiet) if build else [_looked_at(recipe) for recipe in wanted]
    system = peers.glibc()
    shown = [PeerResult(system.name, "ready", system, system.origin), *found]
    if to_json:
        _write_json(to_json, shown)
    if to_json != "-":
        _print_table(shown)
    lacking = [result.name for result in found if result.allocator is None]
    if lacking and names and build:
        raise LabError(f"not to be had here: {', '.join(lacking)}", "the table says why")


def _looked_at(recipe: Recipe) -> PeerResult:
    allocator = peers.shelf.read(recipe)
    fix = "" if allocator else f"`hakmem peers {recipe.name}` makes it"
    return PeerResult(recipe.name, "ready" if allocator else "not built", allocator, recipe.origin, fix=fix)


def _made(wanted: list[Recipe], again: bool, quiet: bool) -> list[PeerResult]:
    """`peers.get` with a bar, or with a line for each peer where no bar can be drawn."""
    total = sum(recipe.seconds for recipe in wanted)
    with Progress(total, quiet, unit="of work", label="peers") as progress:
        begun: set[str] = set()

        def report(step: Step) -> None:
            what = "waiting for another run that makes peers" if step.state == "waiting" else f"{step.state} {step.name}"
            if step.state == "making":
                progress.to(total - step.left_s, what)
            elif step.state == "failed":
                progress.note(what)
            if what not in begun and not progress.shown and not quiet and step.state in ("waiting", "making"):
                print(f"hakmem: {what}", file=sys.stderr)
            begun.add(what)

        return peers.get([recipe.name for recipe in wanted], report, again)


def _write_json(target: str, made: list[PeerResult]) -> None:
    text = json.dumps([asdict(result) for result in made], indent=2)
    if target == "-":
        print(text)
        return
    results.write(target, text + "\n")


def _print_table(results: list[PeerResult]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("name", "version", "from", "library", "state"):
        table.add_column(heading, overflow="fold")
    for result in results:
        allocator = result.allocator
        state = f"{result.state} in {result.seconds:.0f} s" if result.state == "made" else result.state
        table.add_row(
            result.name,
            allocator.version if allocator else "-",
            result.origin,
            _near(allocator.path) if allocator and allocator.path else "-",
            state,
        )
    # Without a terminal the table is as wide as it needs to be: it is read by programs, or wrapped by who reads it.
    console = Console(width=None if sys.stdout.isatty() else 200)
    console.print(table)
    for result in results:
        if result.reason or result.fix:
            why = f" cannot be had: {result.reason}" if result.reason else " is not here"
            console.print(f"{result.name}{why}" + (f"\n  {result.fix}" if result.fix else ""), markup=False, highlight=False)


def _near(path: str) -> str:
    """A path as seen from here, when that is shorter."""
    try:
        return min(str(Path(path).relative_to(Path.cwd())), path, key=len)
    except (ValueError, FileNotFoundError):  # it is elsewhere, or the current directory is gone
        return path
