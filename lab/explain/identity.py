"""Whose memory was looked at, and how: what every report on a process begins with."""

from __future__ import annotations

from typing import Any, Protocol

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
    command = " ".join(found.command.split())[:WIDEST_COMMAND]
    return f"process {found.pid} ({command}), hakmem {found.release} {found.variant}; {STATES[found.state]}"


def as_json(found: Identified) -> dict[str, Any]:
    """The same for machines."""
    return {
        "pid": found.pid,
        "command": found.command,
        "release": found.release,
        "variant": found.variant,
        "state": found.state,
    }
