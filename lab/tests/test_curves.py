"""The line charts of soaks and latencies."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab import curves, durations, peers
from lab.curves import Chart


def test_every_line_has_a_colour_of_its_own() -> None:
    """Of all allocators that there are, with hakmem, glibc and the clock."""
    names = ["hakmem", "glibc", *(recipe.name for recipe in peers.RECIPES), "clock"]
    lines = {name: ([1.0, 10.0], [1.0, 10.0]) for name in names}
    (axes,) = curves._figure(Chart("title", "x", "y"), lines).axes
    colours = [line.get_color() for line in axes.get_lines()]
    assert len(set(colours)) == len(names) and not {"tab:gray", "#7f7f7f"} & set(colours), "grey is the clock"


def test_times_have_units(tmp_path: Path) -> None:
    chart = Chart("title", "one call in ...", "time of a call", logarithmic=True, y_as=durations.short)
    curves.draw(chart, {"one": ([1, 1000], [10, 20_000_000])}, tmp_path / "curve.svg")
    text = (tmp_path / "curve.svg").read_text()
    assert all(f">{words}<" in text for words in ("10 ns", "1 µs", "10 ms"))


@pytest.mark.parametrize(("ns", "said"), [(0.5, "0.5 ns"), (1, "1 ns"), (1000, "1 µs"), (2.5e6, "2.5 ms"), (1e10, "10 s")])
def test_short_times(ns: float, said: str) -> None:
    assert durations.short(ns) == said
