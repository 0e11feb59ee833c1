"""Line charts of soaks and latencies, as files of one kind or as SVG and PNG files with the same name."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lab import files
from lab.errors import LabError

if TYPE_CHECKING:  # Matplotlib is slow to load
    from matplotlib.figure import Figure

Line = tuple[Sequence[float], Sequence[float]]
ENDINGS = (".svg", ".png")
# Of Matplotlib's ten without its grey, and three more: as many as there are allocators.
COLOURS = [f"tab:{name}" for name in "blue orange green red purple brown pink olive cyan".split()] + ["navy", "goldenrod", "black"]
CLOCK_COLOUR = "0.6"  # grey
NO_DATE = {"svg": "Date", "pdf": "CreationDate"}


@dataclass(frozen=True)
class Chart:
    """What a chart says beside its lines; axes begin at 0 unless they are logarithmic. `y_as`: how a value of y is said."""

    title: str
    x: str
    y: str
    logarithmic: bool = False
    y_as: Callable[[float], str] | None = None


def places(path: Path) -> list[Path]:
    """The files of a chart: the one that the name says, or both kinds where it says none."""
    return [path] if path.suffix in files.PICTURES else [path.with_name(path.name + ending) for ending in ENDINGS]


def draw(chart: Chart, lines: Mapping[str, Line], path: Path) -> list[Path]:
    """Writes the files of `places`: a line for each name, hakmem's own thicker; returns their paths.

    An SVG has no date and no random ids: the same lines always give the same file. Raises LabError when one cannot be
    written; it is whole or not there.
    """
    import matplotlib

    matplotlib.use("Agg")
    with matplotlib.rc_context({"svg.hashsalt": "hakmem", "svg.fonttype": "none"}):
        figure = _figure(chart, lines)
        for place in places(path):
            drawn, kind = io.BytesIO(), place.suffix[1:]
            figure.savefig(drawn, format=kind, dpi=110, metadata=None if kind == "png" else {NO_DATE[kind]: None})
            try:
                files.put(place, drawn.getvalue())
            except OSError as error:
                raise LabError(f"cannot write {place}: {error.strerror}", "name a place that can be written") from None
    return places(path)


def _figure(chart: Chart, lines: Mapping[str, Line]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 5.5), layout="constrained")
    axes = figure.add_subplot()
    axes.set_prop_cycle(color=COLOURS)
    for name, (x, y) in lines.items():
        axes.plot(x, y, label=name, **_style(name))
    axes.set(title=chart.title, xlabel=chart.x, ylabel=chart.y)
    if chart.logarithmic:
        axes.set(xscale="log", yscale="log")
        axes.set_ylim(bottom=1)
    else:
        axes.set_ylim(bottom=0)
    if chart.y_as:
        axes.yaxis.set_major_formatter(lambda value, _: chart.y_as(value))
    axes.grid(alpha=0.3)
    axes.legend(loc="best", fontsize="small")
    return figure


def _style(name: str) -> dict[str, object]:
    if name == "clock":
        return {"color": CLOCK_COLOUR, "linestyle": "--", "linewidth": 1.2}
    ours = name.startswith("hakmem")
    return {"linewidth": 2.2 if ours else 1.2, "zorder": 3 if ours else 2}
