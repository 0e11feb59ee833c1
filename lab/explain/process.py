"""What a process is: the file that it runs, the words that it was started with, and the time that it has used."""

from __future__ import annotations

import os
import re
from pathlib import Path

STATE, USER, SYSTEM = 0, 11, 12  # of the fields of stat; times are in ticks


def threads(pid: int) -> list[int]:
    """Those of its threads that have not ended. Raises OSError when there is no such process."""
    return [thread for thread in map(int, os.listdir(f"/proc/{pid}/task")) if _lives(f"/proc/{pid}/task/{thread}")]


def _lives(place: str) -> bool:
    try:
        return _fields(place)[STATE] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def directory(pid: int) -> str:
    """Where the kernel shows its memory: /proc/PID; of one whose first thread has ended before others, that of another thread."""
    try:
        if _fields(f"/proc/{pid}")[STATE] == "Z":
            return next((f"/proc/{thread}" for thread in threads(pid)), f"/proc/{pid}")
    except OSError:
        pass  # who reads there says so
    return f"/proc/{pid}"


def program(pid: int) -> str:
    """The path of its program; empty when that cannot be read."""
    try:
        return os.readlink(f"{directory(pid)}/exe")
    except OSError:
        return ""


def command(pid: int) -> str:
    """Its command line; empty when that cannot be read."""
    try:
        return Path(f"{directory(pid)}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat (proc(5)) behind the command's name. Raises OSError when there is no such process."""
    return _fields(f"/proc/{pid}")


def state(pid: int) -> str:
    """One letter (proc(5)): that of its first thread that has not ended. Raises OSError when there is no such process."""
    return _fields(directory(pid))[STATE]


def has_ended(pid: int) -> bool:
    """Is it gone, or waits only for its parent to notice?"""
    try:
        return state(pid) in "ZX"
    except OSError:
        return True


def tracer(pid: int) -> int:
    """Who traces it (ptrace), as its debugger, or `hakmem run --explain`; 0 when nobody does or that cannot be read."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(errors="replace")
    except OSError:
        return 0
    found = re.search(r"^TracerPid:\s*(\d+)$", status, re.M)
    return int(found[1]) if found else 0


def cpu_s(pid: int) -> float:
    """User and system time of all its threads in seconds; 0 when that cannot be read."""
    try:
        fields = stat(pid)
    except OSError:
        return 0.0
    return (int(fields[USER]) + int(fields[SYSTEM])) / os.sysconf("SC_CLK_TCK")


def _fields(directory: str) -> list[str]:
    return Path(f"{directory}/stat").read_text().rpartition(")")[2].split()
