"""An icicle of live bytes: each call path from the top down, every function as wide as what it and those below it hold."""

from __future__ import annotations

import io
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

import matplotlib

matplotlib.use("Agg")

from matplotlib import colormaps  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.collections import PolyCollection  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.font_manager import FontProperties  # noqa: E402
from matplotlib.textpath import TextPath  # noqa: E402

from lab.explain import identity  # noqa: E402
from lab.heap.profile import Profile  # noqa: E402
from lab.heap.report import size, spoken, spoken_rate  # noqa: E402
from lab.spoken import counted  # noqa: E402

WIDTH_INCHES, ROW_INCHES, MARGIN_INCHES = 14.0, 0.27, 0.2
HEAD_INCHES = 0.75
WIDEST_COMMAND = 110
FONT = FontProperties(family="DejaVu Sans", size=8)
WIDTH_POINTS, PADDING_POINTS = 72 * (WIDTH_INCHES - 2 * MARGIN_INCHES), 3
LEAST_SHARE = 0.004  # of the whole width: narrower ones cannot be seen, nor what is below them
LEAST_LETTERS = 3
COLOURS = ("YlOrBr", 0.12, 0.55)  # light enough for black letters
SHADES = 64
RC = {"svg.fonttype": "none", "svg.hashsalt": "hakmem", "font.family": ["DejaVu Sans"]}


@dataclass
class Node:
    """A function in one place of the tree."""

    bytes: float = 0.0
    below: dict[str, Node] = field(default_factory=dict)


@dataclass(frozen=True)
class Bar:
    """A node as it is drawn: where, in shares of the width and in rows from the top."""

    name: str
    left: float
    width: float
    row: int


def tree_of(profile: Profile) -> Node:
    """The live bytes of all call paths, merged from the outermost function on."""
    root = Node()
    for stack in profile.stacks:
        if not stack.live.samples:
            continue
        node, space = root, stack.live.bytes
        node.bytes += space
        for name in stack.names:
            node = node.below.setdefault(name, Node())
            node.bytes += space
    return root


def bars_of(root: Node) -> list[Bar]:
    """The bars from the top down: all bytes, then function by function, the largest to the left."""
    bars: list[Bar] = []
    waiting = [("all", root, 0.0, 0)]
    while waiting:
        name, node, left, row = waiting.pop()
        bars.append(Bar(name, left, node.bytes / root.bytes, row))
        for below, child in sorted(node.below.items(), key=lambda item: (-item[1].bytes, item[0])):
            if child.bytes >= LEAST_SHARE * root.bytes:
                waiting.append((below, child, left, row + 1))
            left += child.bytes / root.bytes
    return bars


def drawn(profile: Profile, kind: str) -> bytes:
    """The picture as a file of the kind svg, png or pdf."""
    root = tree_of(profile)
    bars = bars_of(root) if root.bytes else []
    labels = {bar: _label(bar, root.bytes) for bar in bars}
    rows = 1 + max((bar.row for bar in bars if labels[bar]), default=0)  # below that nothing can be read
    height = HEAD_INCHES + rows * ROW_INCHES + MARGIN_INCHES
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(WIDTH_INCHES, height), facecolor="white")
        inner = 1 - 2 * MARGIN_INCHES / WIDTH_INCHES
        place = (MARGIN_INCHES / WIDTH_INCHES, MARGIN_INCHES / height, inner, rows * ROW_INCHES / height)
        axes = figure.add_axes(place, xlim=(0, 1), ylim=(rows, 0))
        axes.set_axis_off()
        _title(figure, profile, height)
        _draw(axes, {bar: label for bar, label in labels.items() if bar.row < rows})
        written = io.BytesIO()
        figure.savefig(written, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None)
    return written.getvalue()


def _title(figure: Figure, profile: Profile, height: float) -> None:
    left = MARGIN_INCHES / WIDTH_INCHES
    head = _plain(f"process {profile.pid} ({identity.command(profile, WIDEST_COMMAND)})")
    live = spoken(profile.live, profile.rate == 1) if profile.live.samples else "nothing sampled is"
    rest = f"{live} live; {spoken_rate(profile.rate)}, {counted(profile.live.samples, 'sample')}, {profile.lost:,} lost"
    figure.text(left, 1 - 0.28 / height, head, size=11, weight="bold", va="baseline")
    figure.text(left, 1 - 0.53 / height, rest, size=9, va="baseline")


def _draw(axes: Axes, labels: Mapping[Bar, str]) -> None:
    corners, colours = [_corners(bar) for bar in labels], [_colour(bar) for bar in labels]
    axes.add_collection(PolyCollection(corners, facecolors=colours, edgecolors="white", linewidths=0.6))
    for bar, label in labels.items():
        if label:
            place = (bar.left + PADDING_POINTS / WIDTH_POINTS, bar.row + 0.68)
            axes.text(*place, _plain(label), fontproperties=FONT, va="baseline", clip_on=True)


def _label(bar: Bar, total: float) -> str:
    words = f"{bar.name}  {size(bar.width * total)}, {100 * bar.width:.1f} %"
    return _fitting(words, bar.name, bar.width * WIDTH_POINTS - 2 * PADDING_POINTS)


def _corners(bar: Bar) -> list[tuple[float, float]]:
    right, low = bar.left + bar.width, bar.row + 1
    return [(bar.left, bar.row), (right, bar.row), (right, low), (bar.left, low)]


def _colour(bar: Bar) -> tuple[float, float, float, float]:
    """A function has the same colour wherever it stands, in every picture."""
    if bar.row == 0:
        return (0.88, 0.88, 0.88, 1.0)
    name, low, high = COLOURS
    red, green, blue, alpha = colormaps[name](low + (high - low) * (zlib.crc32(bar.name.encode()) % SHADES) / SHADES)
    return (red, green, blue, alpha)


def _fitting(words: str, name: str, points: float) -> str:
    """As much as fits: name and figures, the name, or its beginning; nothing where that would be a few letters."""
    for text in (words, name):
        if sum(map(_width, text)) <= points:
            return text
    room, kept = points - _width("…"), 0
    while kept < len(name) and room >= _width(name[kept]):
        room -= _width(name[kept])
        kept += 1
    return name[:kept] + "…" if kept >= LEAST_LETTERS else ""


@cache
def _width(letter: str) -> float:
    """Of one letter between others, in points."""
    around, alone = (TextPath((0, 0), _plain(text), prop=FONT).get_extents().width for text in (f"|{letter}|", "||"))
    return float(around - alone)


def _plain(text: str) -> str:
    """What Matplotlib does not take for a formula."""
    return text.replace("$", r"\$")
