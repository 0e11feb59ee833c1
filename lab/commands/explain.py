"""`hakmem explain`: where the resident memory of a process is. Also behind `hakmem run --explain`."""

from __future__ import annotations

import contextlib
from typing import Annotated

import typer

from lab import results
from lab.arguments import Pid
from lab.explain import held, report, snapshot
from lab.explain.problems import process_id


def command(
    pid: Pid,
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
        return held.run(pid, run, [lambda pid: at_exit(pid, top, to_json)])
    process = process_id(pid, "hakmem explain PID, or hakmem run --explain -- CMD")
    with snapshot.stopped(process) if stop else contextlib.nullcontext():
        found = snapshot.take(process, "stopped" if stop else "running", estimate)
    results.give(report.lines(found, top), report.as_json(found), to_json)
    return 0


def at_exit(pid: int, top: int = report.TOP, to_json: str = "") -> None:
    """Explains a program that is held at its exit."""
    found = snapshot.take(pid, "exit")
    results.give(report.lines(found, top), report.as_json(found), to_json)
