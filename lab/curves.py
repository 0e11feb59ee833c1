"""Line charts of soaks and latencies, as SVG and PNG files with the same name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.errors import LabError

Line = tuple[Sequence[float], Sequence[float]]
ENDINGS = ("svg", "png")


@dataclass(frozen=True)
class Chart:
    """What a chart says beside its lines; axes begin at 0 unless they are logarithmic."""

    title: str
    x: str
    y: str
    logarithmic: bool = False


def draw(chart: Chart, lines: Mapping[str, Line], path: Path) -> list[Path]:
    """Writes path.svg and path.png: a line for each name, hakmem's own thicker, `clock` grey; returns the two paths.

    The SVG has no date and no random ids: the same lines always give the same file. Raises LabError when it cannot
    be written.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.hashsalt": "hakmem", "svg.fonttype": "none"}):
        figure = Figure(figsize=(10, 5.5), layout="constrained")
        axes = figure.add_subplot()
        for name, (x, y) in lines.items():
            axes.plot(x, y, label=name, **_style(name))
        axes.set(title=chart.title, xlabel=chart.x, ylabel=chart.y)
        if chart.logarithmic:
            axes.set(xscale="log", yscale="log")
            axes.set_ylim(bottom=1)
        else:
            axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend(loc="best", fontsize="small")
        written = [path.with_name(f"{path.name}.{kind}") for kind in ENDINGS]
        try:
            figure.savefig(written[0], metadata={"Date": None})
            figure.savefig(written[1], dpi=110)
        except OSError as error:
            raise LabError(f"cannot write {error.filename or path}: {error.strerror}", "name a place that can be written") from None
    return written


def _style(name: str) -> dict[str, object]:
    if name == "clock":
        return {"color": "0.6", "linestyle": "--", "linewidth": 1.2}
    ours = name.startswith("hakmem")
    return {"linewidth": 2.2 if ours else 1.2, "zorder": 3 if ours else 2}
