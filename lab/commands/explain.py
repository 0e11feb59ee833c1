"""`hakmem explain`: where the resident memory of a process is. Also behind `hakmem run --explain`."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Annotated

import typer

from lab import results
from lab.errors import LabError
from lab.explain import hold, report, snapshot
from lab.explain.problems import process_id


def command(
    words: Annotated[list[str], typer.Argument(metavar="PID", help="the process")],
    stop: Annotated[bool, typer.Option("--stop", help="stop the process (SIGSTOP) while it is read")] = False,
    top: Annotated[int, typer.Option(min=0, help="size classes that are shown")] = report.TOP,
    estimate: Annotated[bool, typer.Option("--estimate", help="do without /proc/PID/pagemap")] = False,
    run: Annotated[str, typer.Option("--run", hidden=True)] = "",
    to_json: Annotated[str, typer.Option("--json", metavar="FILE", help="also as JSON; - is standard output")] = "",
) -> int:
    """Where is RSS? Live blocks, waste, free blocks, caches, what waits to go home, records, huge pages, and not ours.

    Read from outside: the process neither runs code for it nor notices. The rows add up to the kernel's Rss.
    """
    if run:
        return _run(words, run, top, to_json)
    pid = process_id(words, "hakmem explain PID, or hakmem run --explain -- CMD")
    with snapshot.stopped(pid) if stop else contextlib.nullcontext():
        found = snapshot.take(pid, "stopped" if stop else "running", estimate)
    results.give(report.lines(found, top), report.as_json(found), to_json)
    return 0


def _run(words: list[str], library: str, top: int, to_json: str) -> int:
    """Runs the command on `library` and explains it at its exit, on standard error: the output is the program's."""

    def explain(pid: int) -> None:
        try:
            found = snapshot.take(pid, "exit")
            with contextlib.redirect_stdout(sys.stderr):
                results.give(report.lines(found, top), report.as_json(found), to_json)
                sys.stderr.flush()
        except LabError as error:
            print(error.text(), file=sys.stderr, flush=True)

    before = os.environ.get("LD_PRELOAD", "")
    preload = f"{before}:{library}" if before else library
    return hold.end_like(hold.run(words, {**os.environ, "LD_PRELOAD": preload}, explain))
