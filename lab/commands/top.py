"""`hakmem top`: `hakmem explain` again and again, with what changed in between."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections import deque
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from lab import durations, results
from lab.arguments import Pid, one_of
from lab.errors import AskedWrongly, LabError
from lab.explain import snapshot, watch
from lab.explain.problems import NoProcess, process_id
from lab.explain.process import has_ended

LEAST_INTERVAL_S = 0.1


def command(
    pid: Pid,
    interval: Annotated[str, typer.Option("--interval", "-i", metavar="TIME", help="between two looks: 500ms, 2s")] = "2s",
    count: Annotated[int, typer.Option("--count", "-n", min=0, help="looks; 0: until the process ends, or Ctrl-C")] = 0,
    top: Annotated[int, typer.Option(min=0, help="size classes that are shown")] = 12,
    sort: Annotated[str, typer.Option(metavar=one_of(watch.ORDERS), help="of size classes")] = "live",
    estimate: Annotated[bool, typer.Option("--estimate", help="do without /proc/PID/pagemap")] = False,
    to_json: Annotated[str, typer.Option("--json", metavar="FILE", help="a line a look; - is standard output")] = "",
) -> int:
    """A live view: where the memory of a process is, what changed since the last look, which size classes grow.

    Read from outside, as by `hakmem explain`: the process neither runs code for it nor notices. Ctrl-C ends it.
    Without a terminal every look is a page of its own.
    """
    process = process_id(pid, "hakmem top PID")
    pause = durations.seconds(interval, "--interval")
    if pause < LEAST_INTERVAL_S:
        raise AskedWrongly(f"--interval {interval} is too short", f"from {LEAST_INTERVAL_S} s on the process is left in peace")
    if sort not in watch.ORDERS:
        raise AskedWrongly(f"--sort {sort} is no order", f"use one of {', '.join(watch.ORDERS)}")
    results.check(to_json)
    looks: deque[watch.Look] = deque(maxlen=watch.HISTORY)
    ended, number = False, 0
    with _shown(to_json) as show, contextlib.suppress(KeyboardInterrupt):
        for number, found in enumerate(_looks(process, pause, count, estimate), 1):
            looks.append(found)
            before = looks[-2] if len(looks) > 1 else None
            show(watch.lines(looks, top, sort))
            if to_json:
                results.add(to_json, json.dumps(watch.as_json(found, before), allow_nan=False))
        ended = number != count
    if ended:
        print(f"hakmem: process {process} has ended", file=sys.stderr)
    return 0


def _looks(pid: int, pause: float, count: int, estimate: bool) -> Iterator[watch.Look]:
    """Look after look, until there were `count` of them or the process ends. Raises LabError when there was none."""
    done = 0
    while count == 0 or done < count:
        began = time.monotonic()
        try:
            found = watch.look(pid, lambda one: snapshot.take(one, estimate=estimate))
        except LabError as error:
            if done and (isinstance(error, NoProcess) or has_ended(pid)):  # it was there a moment ago
                return
            raise
        yield found
        done += 1
        if count == 0 or done < count:
            time.sleep(max(0.0, pause - (time.monotonic() - began)))


class _Page:
    """Where pages go: over the last one on a terminal, else below it; nowhere beside JSON on standard output."""

    def __init__(self, live: Live | None, silent: bool) -> None:
        self.live, self.silent = live, silent
        self.last: list[str] = []

    def __call__(self, page: list[str]) -> None:
        self.last = page
        if self.live:
            self.live.update(Text("\n".join(page)), refresh=True)
        elif not self.silent:
            print("\n".join([*page, ""]), flush=True)


@contextlib.contextmanager
def _shown(to_json: str) -> Iterator[_Page]:
    if not sys.stdout.isatty() or to_json == "-":
        yield _Page(None, to_json == "-")
        return
    console = Console()
    page = _Page(None, False)
    try:
        with Live(console=console, screen=True, auto_refresh=False, vertical_overflow="crop") as live:
            page.live = live
            yield page
    finally:
        if page.last:
            print("\n".join(page.last))  # the screen is gone: the last page stays
