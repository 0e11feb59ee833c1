"""Percentile curves of each kind of call: how long the slowest call in a hundred, in ten thousand takes."""

from __future__ import annotations

import io
import math

import matplotlib

matplotlib.use("Agg")

from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator  # noqa: E402

from lab import tail  # noqa: E402
from lab.calls.latency import ALL  # noqa: E402
from lab.calls.look import Look  # noqa: E402
from lab.durations import short  # noqa: E402
from lab.explain import identity  # noqa: E402
from lab.spoken import counted  # noqa: E402

STYLES = {  # colours that the colour-blind can tell apart, and a line of its own for each
    "malloc": ("#0072B2", "-"),
    "free": ("#D55E00", "-"),
    "large malloc": ("#0072B2", "--"),
    "large free": ("#D55E00", "--"),
    "resize": ("#009E73", "-."),
}
RC = {"svg.fonttype": "none", "svg.hashsalt": "hakmem", "font.family": ["DejaVu Sans"], "font.size": 11}
LEAST_NS = 1.0  # the axis begins there: a hit within one tick counts as no time at all


def drawn(look: Look, kind: str) -> bytes:
    """The picture as a file of the kind svg, png or pdf."""
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(11, 6), layout="constrained", facecolor="white")
        axes = figure.add_subplot()
        most = 10.0
        for one in look.latencies:
            if one.kind == ALL or not one.count:
                continue
            ranks, values = tail.curve(one.histogram)
            ranks, values = [*ranks, float(one.count)], [*values, one.ns[-1]]
            colour, dashes = STYLES[one.kind]
            axes.plot(ranks, values, dashes, color=colour, linewidth=2, label=f"{one.kind} ({counted(one.count, 'call')})")
            most = max(most, one.count)
        _scales(axes, most)
        axes.set_title(identity.process(look).replace("$", r"\$"), loc="left", fontsize=11)
        if axes.get_lines():
            axes.legend(loc="upper left", frameon=False)
        written = io.BytesIO()
        figure.savefig(written, format=kind, dpi=130, metadata={"Date": None} if kind == "svg" else None)
    return written.getvalue()


def _scales(axes: Axes, most: float) -> None:
    powers = range(math.ceil(math.log10(most)) + 1)
    axes.set(xscale="log", yscale="log", xlim=(1, most * 1.1), xlabel="share of the calls that were no slower")
    axes.set_ylabel("time of a call")
    axes.set_ylim(bottom=LEAST_NS)
    axes.xaxis.set_major_locator(FixedLocator([1, 2, *(10.0**power for power in powers if power)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _percent(value)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axes.grid(alpha=0.35)
    axes.spines[["top", "right"]].set_visible(False)


def _percent(rank: float) -> str:
    """99.9 % for one call in a thousand."""
    places = max(0, round(math.log10(rank)) - 2)
    return f"{100 * (1 - 1 / rank):.{places}f} %"
