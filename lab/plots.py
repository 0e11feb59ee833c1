"""Figures as SVG text that can stand inside an HTML page: drawn by matplotlib, coloured by the page.

Every colour is a placeholder that becomes a CSS variable (`var(--ink)`), so that one figure reads in light and in dark
and on paper; the page must define the variables of VARIABLES. Before each stands the plain colour of the light theme
(colours.css), for viewers that know no variables: browsers take the last one that they understand, all others the first.
Letters stay letters (they can be searched and are the page's own), ids are taken out or made unique to the figure, and
the same data always gives the same text.
"""

from __future__ import annotations

import hashlib
import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator  # noqa: E402

VARIABLES = ["paper", "ink", "faint", "rule", "good", "bad", "mild", "subject", "peer", *(f"line-{i}" for i in range(1, 9))]
COLOURS = Path(__file__).with_name("colours.css")
PLACEHOLDER = {name: f"#fe{100 + index:02x}{index + 1:02x}" for index, name in enumerate(VARIABLES)}
MARKS = ("o", "s", "^", "D", "v", "P", "X", "<")
WIDTH_INCHES = 8.6
ROW_INCHES = 0.235
FONT = 9.0
WIDEST_RATIO = 4.0
MOST_MARKS = 8
TALL_ROWS = 15
TICKS_PERCENT = (10, 20, 25, 33, 50, 60, 70, 80, 90, 100, 110, 125, 150, 175, 200, 250, 300, 400, 600, 800)

RC = {
    "svg.fonttype": "none",
    "font.family": ["DejaVu Sans"],
    "font.size": FONT,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "text.color": PLACEHOLDER["ink"],
    "axes.labelcolor": PLACEHOLDER["ink"],
    "axes.titlecolor": PLACEHOLDER["ink"],
    "axes.titlesize": FONT + 1,
    "axes.titlelocation": "left",
    "axes.edgecolor": PLACEHOLDER["rule"],
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": PLACEHOLDER["rule"],
    "grid.linewidth": 0.6,
    "xtick.color": PLACEHOLDER["rule"],
    "ytick.color": PLACEHOLDER["rule"],
    "xtick.labelcolor": PLACEHOLDER["ink"],
    "ytick.labelcolor": PLACEHOLDER["ink"],
    "legend.frameon": False,
    "legend.labelcolor": PLACEHOLDER["ink"],
}


@dataclass(frozen=True)
class RatioRow:
    """One line of `ratios`: a ratio with its interval, those to other peers, and the tone of the standing."""

    label: str
    ratio: float
    low: float
    high: float
    tone: str = "mild"
    others: Sequence[float] = ()


@dataclass(frozen=True)
class DotRow:
    """One line of `dots`: the subject's figure and those of the peers."""

    label: str
    subject: float
    peers: Sequence[float] = ()


@dataclass(frozen=True)
class Panel:
    """One set of axes of `lines`: series by name, each (x, y)."""

    title: str
    x: str
    y: str
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    log_y: bool = False
    from_zero: bool = False
    x_labels: Sequence[str] = field(default=())


def ratios(rows: Sequence[RatioRow], x: str, alt: str) -> str:
    """Ratios with intervals on a logarithmic scale in per cent, a line at 100 %; the rows from top to bottom."""
    with matplotlib.rc_context(RC):
        figure, axes = _rows_figure([row.label for row in rows])
        low, high = _ratio_limits(rows)
        for place, row in enumerate(rows):
            colour = PLACEHOLDER[row.tone]
            others = [value for value in row.others if low < value < high]
            axes.plot(others, [place] * len(others), "|", color=PLACEHOLDER["peer"], markersize=7, zorder=2)
            ends = [max(row.low, low), min(row.high, high)]
            axes.plot(ends, [place] * 2, color=colour, linewidth=2, zorder=3, solid_capstyle="butt")
            shape = {"good": "o", "bad": "D"}.get(row.tone, "o")
            face = PLACEHOLDER["paper"] if row.tone == "mild" else colour
            centre = min(max(row.ratio, low), high)
            axes.plot([centre], [place], shape, color=colour, markerfacecolor=face, markersize=5.5, zorder=4)
        axes.axvline(1, color=PLACEHOLDER["ink"], linewidth=1, zorder=1)
        axes.set_xscale("log")
        axes.set_xlim(low, high)
        _percent_ticks(axes, low, high)
        axes.set_xlabel(x)
        _values_at_the_right(axes, [f"{100 * row.ratio:.1f} %" for row in rows])
        return _svg(figure, alt)


def dots(rows: Sequence[DotRow], x: str, alt: str) -> str:
    """The subject's figure among its peers' on a logarithmic scale; the rows from top to bottom."""
    with matplotlib.rc_context(RC):
        figure, axes = _rows_figure([row.label for row in rows])
        for place, row in enumerate(rows):
            axes.plot(row.peers, [place] * len(row.peers), "|", color=PLACEHOLDER["peer"], markersize=8, zorder=2)
            axes.plot([row.subject], [place], "o", color=PLACEHOLDER["subject"], markersize=5.5, zorder=3)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        _one_two_five(axes, [value for row in rows for value in (row.subject, *row.peers)])
        axes.set_xlabel(x)
        return _svg(figure, alt)


def lines(panels: Sequence[Panel], subject: str, alt: str) -> str:
    """Panels side by side with one legend below; the subject's line is thick, every name keeps its colour and mark."""
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(WIDTH_INCHES, 3.9), layout="constrained")
        names = list(dict.fromkeys(name for panel in panels for name in panel.series))
        styles = _styles(names, subject)
        drawn = {}
        for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            for name, (xs, ys) in panel.series.items():
                marks = {"markevery": max(1, len(xs) // MOST_MARKS)}
                (drawn[name],) = axes.plot(xs, ys, label=name, **styles[name], **marks)
            _finish(axes, panel)
        figure.legend(drawn.values(), drawn.keys(), loc="outside lower center", ncols=min(5, len(drawn)))
        return _svg(figure, alt)


def _finish(axes: Axes, panel: Panel) -> None:
    axes.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
    if panel.log_y:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        values = [value for _, ys in panel.series.values() for value in ys if value > 0]
        if values:
            _one_two_five(axes, values, vertical=True)
    if panel.from_zero:
        axes.set_ylim(bottom=0)
    if panel.x_labels:
        axes.set_xticks(range(len(panel.x_labels)), panel.x_labels)


def _styles(names: Sequence[str], subject: str) -> dict[str, dict[str, object]]:
    others = [name for name in names if name != subject]
    styles: dict[str, dict[str, object]] = {}
    for index, name in enumerate(others):
        mark, colour = MARKS[index % len(MARKS)], PLACEHOLDER[f"line-{index % 8 + 1}"]
        styles[name] = {"color": colour, "marker": mark, "markersize": 3.5, "linewidth": 1.1, "zorder": 2}
    styles[subject] = {"color": PLACEHOLDER["subject"], "marker": "o", "markersize": 4.5, "linewidth": 2.4, "zorder": 3}
    return styles


def _rows_figure(labels: Sequence[str]) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(WIDTH_INCHES, ROW_INCHES * len(labels) + 0.9), layout="constrained")
    axes = figure.add_subplot()
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labeltop=len(labels) > TALL_ROWS)
    return figure, axes


def _ratio_limits(rows: Sequence[RatioRow]) -> tuple[float, float]:
    """The scale holds every ratio and interval, and the others' as far as WIDEST_RATIO."""
    own = [value for row in rows for value in (row.low, row.high, row.ratio)]
    others = [value for row in rows for value in row.others if 1 / WIDEST_RATIO < value < WIDEST_RATIO]
    values = [min(max(value, 1 / WIDEST_RATIO**2), WIDEST_RATIO**2) for value in (*own, *others, 0.95, 1.05)]
    return min(values) / 1.04, max(values) * 1.04


def _percent_ticks(axes: Axes, low: float, high: float) -> None:
    """Round numbers that keep their distance from each other on the logarithmic scale; 100 is always there."""
    inside = sorted(TICKS_PERCENT, key=lambda tick: abs(math.log(tick / 100)))
    chosen: list[int] = []
    for tick in inside:
        apart = all(abs(math.log(tick / other)) > math.log(high / low) / 11 for other in chosen)
        if low <= tick / 100 <= high and apart:
            chosen.append(tick)
    axes.xaxis.set_major_locator(FixedLocator([tick / 100 for tick in chosen]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f} %"))


def _one_two_five(axes: Axes, values: Sequence[float], vertical: bool = False) -> None:
    """Ticks at 1, 2, 5, 10, 20 ... where there are few powers of ten, at the powers of ten otherwise."""
    axis = axes.yaxis if vertical else axes.xaxis
    low, high = min(values) / 1.15, max(values) * 1.15
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if len(powers) <= 5 else (1,)
    axis.set_major_locator(FixedLocator([step * 10.0**power for power in powers for step in steps]))
    axis.set_minor_locator(NullLocator())
    (axes.set_ylim if vertical else axes.set_xlim)(low, high)


def _values_at_the_right(axes: Axes, words: Sequence[str]) -> None:
    right = axes.secondary_yaxis("right")
    right.set_yticks(range(len(words)), words)
    right.tick_params(axis="y", length=0)
    right.spines["right"].set_visible(False)


def light() -> dict[str, str]:
    """The colours of the light theme by their variables: the first block of colours.css."""
    block = COLOURS.read_text(encoding="utf-8").partition("}")[0]
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))


def _svg(figure: Figure, alt: str) -> str:
    """The figure as text for a page: placeholders become variables, ids belong to this figure."""
    written = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "hakmem"}):
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = written.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.S)
    # matplotlib's own style sheet would hold for the whole page; its two rules go to the root of the figure.
    text = re.sub(r"<style.*?</style>", "", text, flags=re.S)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    prefix = hashlib.sha256((alt + text).encode()).hexdigest()[:8]
    text = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', text)
    text = re.sub(r"(url\(#|href=\"#)", rf"\g<1>{prefix}-", text)
    plain = light()
    for name, colour in PLACEHOLDER.items():
        text = re.sub(rf"([\w-]+): {colour}", rf"\1: {plain[name]}; \1: var(--{name})", text)
    text = text.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")
    head = f'<svg role="img" aria-label="{escape(alt, quote=True)}" stroke-linejoin="round" stroke-linecap="butt"'
    return text.replace("<svg", head, 1).rstrip()
