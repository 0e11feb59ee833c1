"""What the lab talks about: allocators, workloads, samples and the machine.

Plain dataclasses that `dataclasses.asdict` turns into JSON and keyword arguments turn back. Times are in seconds,
memory in KiB (`_kb`), dates ISO 8601 in UTC. Nothing here runs anything but the few commands that describe the machine.
"""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Allocator:
    """Something that can own malloc in a measured process.

    `path` is the shared library to preload; None means glibc, which needs no preload. `env` holds the options that
    belong to this side of a comparison (HAKMEM_PREWARM=0 ...). `family` groups versions of one allocator ("mimalloc").
    """

    name: str
    path: str | None
    version: str
    origin: str
    family: str
    env: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Workload:
    """One question, and the command that asks it.

    `unit` is "ops/s" (the command prints `Throughput = N ops/s`) or "s" (its wall time is the value). `after` names
    the published benchmark that it follows. `seconds` is roughly what one run takes on glibc.
    """

    name: str
    question: str
    command: list[str]
    env: dict[str, str] = field(default_factory=dict)
    unit: str = "ops/s"
    higher_is_better: bool = True
    after: str = ""
    threads: int = 1
    group: str = ""
    seconds: float = 0.2


@dataclass(frozen=True)
class Sample:
    """One run to its end.

    `value` is in the workload's unit. `order` is the place of the run in its comparison (0, 1, 2 ...), `started` a
    Unix time. `current_rss_kb` is 0 when the command does not report it. `extra` holds what else the run printed.
    """

    value: float
    wall_s: float
    user_s: float
    system_s: float
    peak_rss_kb: int
    current_rss_kb: int = 0
    minor_faults: int = 0
    major_faults: int = 0
    voluntary: int = 0
    involuntary: int = 0
    order: int = 0
    started: float = 0.0
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def cpu_s(self) -> float:
        """User and system time together."""
        return self.user_s + self.system_s


@dataclass(frozen=True)
class Machine:
    """Where a result was measured. An empty string or 0 stands for what this machine does not tell."""

    cpu: str
    cores: int
    kernel: str
    thp: str
    governor: str
    memory_mb: int
    libc: str
    compiler: str
    date: str

    @classmethod
    def read(cls) -> Machine:
        """The machine of this process, now."""
        return cls(
            cpu=_colon_value("/proc/cpuinfo", "model name") or platform.machine(),
            cores=len(os.sched_getaffinity(0)),
            kernel=platform.release(),
            thp=_chosen(_text("/sys/kernel/mm/transparent_hugepage/enabled")),
            governor=_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            memory_mb=int((_colon_value("/proc/meminfo", "MemTotal") or "0").split()[0]) // 1024,
            libc=" ".join(platform.libc_ver()),
            compiler=_first_line([os.environ.get("CC", "cc"), "--version"]),
            date=datetime.now(UTC).isoformat(timespec="seconds"),
        )


def _text(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return ""


def _colon_value(path: str, key: str) -> str:
    for line in _text(path).splitlines():
        name, colon, value = line.partition(":")
        if colon and name.strip() == key:
            return value.strip()
    return ""


def _chosen(words: str) -> str:
    """The word in brackets of a sysfs choice ("always [madvise] never")."""
    return words[words.find("[") + 1 : words.find("]")] if "[" in words else words


def _first_line(command: list[str]) -> str:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.splitlines()[0].strip() if done.stdout else ""
