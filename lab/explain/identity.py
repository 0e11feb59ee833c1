"""Whose memory was looked at, and how: what every report on a process begins with."""

from __future__ import annotations

from typing import Any, Protocol

from lab.explain.plain import printable

WIDEST_COMMAND = 60
STATES = {
    "running": "snapshot of a running process",
    "stopped": "stopped while it was read",
    "exit": "held at its exit",
}


class Identified(Protocol):
    """What was found of a process, whatever it is."""

    @property
    def pid(self) -> int: ...

    @property
    def command(self) -> str: ...

    @property
    def variant(self) -> str: ...

    @property
    def release(self) -> str: ...

    @property
    def state(self) -> str: ...


def line(found: Identified) -> str:
    """The first line of a page for a person."""
    return f"{process(found)}; {STATES[found.state]}"


def process(found: Identified) -> str:
    """The process and its hakmem."""
    return f"process {found.pid} ({command(found)}), hakmem {found.release} {found.variant}"


def command(found: Identified, widest: int = WIDEST_COMMAND) -> str:
    """The beginning of its command line, on one line; what a terminal would obey is written as \\x1b."""
    return printable(found.command)[:widest]


def left_out(torn: int) -> str:
    """Of records that made no sense."""
    return "1 record was left out: it changed while it was read" if torn == 1 else f"{torn} records were left out: they changed while they were read"


def as_json(found: Identified) -> dict[str, Any]:
    """The same for machines."""
    return {
        "pid": found.pid,
        "command": found.command,
        "release": found.release,
        "variant": found.variant,
        "state": found.state,
    }
