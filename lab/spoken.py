"""Counts and changes as people say them."""

from __future__ import annotations


def counted(count: int, one: str, many: str = "") -> str:
    """1 block, 2 blocks, 1,500 blocks; `many` where an s is not enough."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def signed(value: float, places: int = 2) -> str:
    """With its sign, unless nothing of it is left in so many digits: +1.25, -0.50, 0.00."""
    text = f"{value:+.{places}f}"
    return text if float(text) else text[1:]
