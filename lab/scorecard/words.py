"""Figures for people: always with a unit, never with more digits than they are worth."""

from __future__ import annotations

from lab import spoken
from lab.bench_tables import spoken_value

__all__ = ["interval", "mb", "ns", "percent", "percentile", "rate", "signed", "spoken_value"]


def percent(ratio: float) -> str:
    """A ratio in per cent: "103.2 %"."""
    return f"{100 * ratio:.1f} %" if ratio < 9.995 else f"{100 * ratio:,.0f} %"


def interval(low: float, high: float) -> str:
    """The ends of a ratio's interval in per cent: "101.0 to 105.1"."""
    return f"{100 * low:.1f} to {100 * high:.1f}"


def signed(change: float) -> str:
    """A change in per cent: "+1.2 %"."""
    return f"{spoken.signed(100 * change, 1)} %"


def mb(value: float) -> str:
    """MB without the unit: two digits below 10, one below 100."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def rate(value: float) -> str:
    """System calls an operation."""
    return f"{value:.1e}" if value else "0"


def ns(value: float) -> str:
    """Nanoseconds without the unit, three digits."""
    return f"{value:.1f}" if value < 99.95 else f"{value:,.0f}"


def percentile(value: float) -> str:
    """The name of a percentile: p50, p99.9, largest."""
    return "largest" if value >= 100 else f"p{value:g}"
