"""`hakmem heap`: which call paths hold the memory of a process. Also behind `hakmem run --heap`."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from lab import files, outputs, results
from lab.arguments import Pid, one_of
from lab.commands import explain
from lab.errors import AskedWrongly
from lab.explain import held
from lab.explain.problems import process_id
from lab.heap import pprof, profile, report
from lab.heap.profile import Profile
from lab.outputs import Output

PIPE_WIDTH = 150


def command(
    pid: Pid,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="the profile for pprof; hakmem.PID.heap.pb.gz unless given")
    ] = "",
    plot: Annotated[str, typer.Option("--plot", metavar="FILE", help="a picture: .svg, .png or .pdf")] = "",
    top: Annotated[int, typer.Option(min=0, help="functions and call paths that are shown")] = report.TOP,
    sort: Annotated[str, typer.Option(metavar=one_of(report.ORDERS), help="by bytes")] = "live",
    run: Annotated[str, typer.Option("--run", hidden=True)] = "",
    explained: Annotated[bool, typer.Option("--explain", hidden=True)] = False,
    to_json: Annotated[str, typer.Option("--json", metavar="FILE", help="also as JSON; - is standard output")] = "",
) -> int:
    """Who holds the memory? Live and allocated bytes by function and call path, estimated from samples; a file for pprof.

    The process must have been started with `hakmem run --sample 512k -- CMD` or HAKMEM_HEAP_SAMPLE=512k. Read from
    outside: it neither runs code for it nor notices.
    """
    if sort not in report.ORDERS:
        raise AskedWrongly(f"--sort {sort} is no order", f"use one of {', '.join(report.ORDERS)}")
    files.check_picture(plot)
    option = "--heap" if run else "--output"
    results.check(to_json, (option, output), ("--plot", plot))

    def give(pid: int, state: str) -> None:
        _give(pid, state, (option, output), plot, top, sort, to_json)

    if run:
        reports = [explain.at_exit] if explained else []
        return held.run(pid, run, [*reports, lambda pid: give(pid, "exit")])
    give(process_id(pid, "hakmem heap PID, or hakmem run --heap FILE -- CMD"), "running")
    return 0


def at_exit(pid: int, output: str) -> None:
    """Profiles a program that is held at its exit, as `run --heap` does."""
    _give(pid, "exit", ("--heap", output))


def _give(
    pid: int,
    state: str,
    output: tuple[str, str],
    plot: str = "",
    top: int = report.TOP,
    sort: str = "live",
    to_json: str = "",
) -> None:
    """Looks, and gives all that is asked for; `output`: the option that names the file, and its name."""
    found = profile.take(pid, state)
    asked = [_profile(found, *output)]
    if plot:
        asked.append(Output("--plot", plot, "picture", lambda: _picture(found, Path(plot).suffix[1:])))

    def data(written: list[Output]) -> dict[str, Any]:
        return report.as_json(found) | {"profile": asked[0].path if asked[0] in written else None}

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_WIDTH
    outputs.give(report.lines(found, top, sort, width), asked, data, to_json)


def _profile(found: Profile, option: str, path: str) -> Output:
    target = path or files.unused(f"hakmem.{found.pid}", ".heap.pb.gz")
    quoted = shlex.quote(target)
    return Output(
        option,
        target,
        "profile",
        lambda: pprof.encoded(found),
        fix="" if path else "the profile was not written: choose another place with -o FILE",
        hint=f"to look at it: go tool pprof -http=: {quoted}, or pprof {quoted}",
    )


def _picture(found: Profile, kind: str) -> bytes:
    from lab.heap import picture  # it takes Matplotlib, which is slow to load

    return picture.drawn(found, kind)
