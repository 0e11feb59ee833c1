"""What a process is: the file that it runs and the words that it was started with."""

from __future__ import annotations

import os
from pathlib import Path


def program(pid: int) -> str:
    """The path of its program; empty when that cannot be read."""
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""


def command(pid: int) -> str:
    """Its command line; empty when that cannot be read."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""
