"""Durations as people write them: 90, 90s, 5m, 1.5h, 2d."""

from __future__ import annotations

import re

from lab.errors import AskedWrongly

UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
SHORT = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))  # in nanoseconds
PATTERN = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")


def seconds(text: str, option: str = "--duration") -> float:
    """The duration in seconds. Raises AskedWrongly, naming the option, when it is none or 0."""
    found = PATTERN.fullmatch(text.strip().lower())
    if not found or found.group(2) not in UNITS:
        raise AskedWrongly(f"{option} is a duration such as 30s, 5m or 1h, not '{text}'")
    if not float(found.group(1)):
        raise AskedWrongly(f"{option} must be above 0, not '{text}'")
    return float(found.group(1)) * UNITS[found.group(2)]


def short(ns: float) -> str:
    """So many nanoseconds in the unit that makes them a small number: 10 ns, 1 µs, 10 ms."""
    scale, unit = next((pair for pair in SHORT if ns >= pair[0]), SHORT[-1])
    return f"{ns / scale:g} {unit}"
