"""A progress bar with the remaining time on standard error, for everything that takes longer than a few seconds.

    with Progress(720, label="scorecard") as progress:      # seconds: the clock moves the bar
        progress.say("speed: mixed, mimalloc")
    with Progress(40, unit="runs") as progress:             # anything else: `advance` and `to` move it
        progress.advance()

There is none when standard error is not a terminal, or when the caller is asked to be quiet; every method then does
nothing. The bar is drawn only inside these methods: no thread of ours wakes up beside a measured process, so between
two calls it stands still. Leaving the block takes the bar away, also when an exception passes through.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TextIO

REDRAW_S = 0.2


def spoken_time(seconds: float) -> str:
    """Seconds as a person says them: "45 s", "3 min 20 s", "1 h 5 min"."""
    whole = max(0, round(seconds))
    if whole < 90:
        return f"{whole} s"
    if whole < 3600:
        minutes, rest = divmod(whole, 60)
        return f"{minutes} min {rest} s" if rest and minutes < 10 else f"{minutes} min"
    hours, minutes = divmod(round(whole / 60), 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


class Progress:
    """`total` units of work, of the unit "s" (seconds) or any other word. `total` <= 0 means that nobody knows."""

    def __init__(
        self,
        total: float,
        quiet: bool = False,
        *,
        unit: str = "s",
        label: str = "",
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.total, self.unit, self.label, self.clock = total, unit, label, clock
        self.stream = stream or sys.stderr
        self.shown = not quiet and self.stream.isatty()
        self.done, self.what = 0.0, ""
        self.began = clock()
        self.drawn = float("-inf")
        self._bar = _Bar(self.stream, label) if self.shown else None

    def __enter__(self) -> Progress:
        self._draw(force=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def advance(self, amount: float = 1, what: str = "") -> None:
        """`amount` more units are done; `what` is said beside the bar."""
        self.to(self.done + amount, what)

    def to(self, done: float, what: str = "") -> None:
        """`done` units are done."""
        self.done = done
        self.say(what or self.what)

    def say(self, what: str) -> None:
        """What is being done now; also moves a bar of seconds."""
        changed, self.what = what != self.what, what
        self._draw(force=changed)

    def note(self, line: str) -> None:
        """A line that stays above the bar."""
        if self._bar:
            self._bar.note(line)

    def close(self) -> None:
        """Takes the bar away; the methods do nothing afterwards."""
        if self._bar:
            self._bar.close()
        self._bar = None

    def elapsed(self) -> float:
        """Seconds since the bar was made."""
        return self.clock() - self.began

    def remaining(self) -> float | None:
        """Seconds that are left; None while nobody can know."""
        if self.total <= 0:
            return None
        if self.unit == "s":
            return max(0.0, self.total - self.elapsed())
        if self.done <= 0:
            return None
        return max(0.0, self.elapsed() / self.done * (self.total - self.done))

    def _draw(self, force: bool) -> None:
        now = self.clock()
        if self._bar is None or not (force or now - self.drawn >= REDRAW_S):
            return
        self.drawn = now
        if self.unit == "s":
            self.done = self.elapsed()
        left = self.remaining()
        self._bar.draw(self.done, self.total, self.what, "" if left is None else f"{spoken_time(left)} left")


class _Bar:
    """The bar on the terminal, drawn by Rich."""

    def __init__(self, stream: TextIO, label: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as RichProgress

        columns = [
            TextColumn("{task.description}"),
            BarColumn(bar_width=28),
            TextColumn("{task.fields[left]}"),
            TextColumn("{task.fields[what]}", style="dim"),
        ]
        self.rich = RichProgress(*columns, console=Console(file=stream), auto_refresh=False, transient=True)
        self.task = self.rich.add_task(label or "working", total=None, left="", what="")
        self.rich.start()

    def draw(self, done: float, total: float, what: str, left: str) -> None:
        shown = {"total": total, "completed": min(done, total)} if total > 0 else {}
        self.rich.update(self.task, left=left, what=what, **shown)
        self.rich.refresh()

    def note(self, line: str) -> None:
        self.rich.console.print(line, markup=False, highlight=False)

    def close(self) -> None:
        self.rich.stop()
