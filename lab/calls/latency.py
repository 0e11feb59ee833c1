"""Histograms of ticks as HdrHistograms of tenths of nanoseconds, and the file that other tools of HdrHistogram read.

A bucket counts as its middle: a figure is off by half of a bucket, 1/64 of itself, at most.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogWriter

from lab import tail
from lab.calls.records import KINDS, Records

ALL = "all"
LOG = ".hlog"  # the ending of a log; any other is a list of percentiles


@dataclass(frozen=True)
class Latency:
    """How long the calls of one kind took."""

    kind: str
    count: int
    total_ns: float
    histogram: HdrHistogram

    @property
    def ns(self) -> list[float]:
        """At each of tail.PERCENTS, then the longest."""
        return tail.percentiles(self.histogram) if self.count else [0.0] * (len(tail.PERCENTS) + 1)


def of_records(records: Records) -> list[Latency]:
    """Of each kind of call, all threads together, then of all calls. A tick's length must be known."""
    ns = records.middles * records.ns_per_tick
    counts = sum((thread.counts for thread in records.threads), np.zeros((len(KINDS), len(ns)), np.uint64))
    rows = [*zip(KINDS, counts, strict=True), (ALL, counts.sum(axis=0))]
    return [_latency(kind, [int(count) for count in row], ns.tolist()) for kind, row in rows]


def _latency(kind: str, counts: Sequence[int], ns: Sequence[float]) -> Latency:
    histogram, total = tail.empty(), 0.0
    for count, each in zip(counts, ns, strict=True):
        if count:
            histogram.record_value(min(round(each * tail.UNITS_PER_NS), tail.LONGEST_NS * tail.UNITS_PER_NS), count)
            total += count * each
    return Latency(kind, sum(counts), total, histogram)


def written(found: Sequence[Latency], path: str) -> bytes:
    """The histograms of all kinds that were called: a log where the name ends so, else percentiles, kind by kind."""
    called = [one for one in found if one.count]
    return _log(called) if path.endswith(LOG) else b"\n".join(map(_percentiles, called))


def _log(found: Sequence[Latency]) -> bytes:
    out = io.StringIO()
    writer = HistogramLogWriter(out)
    writer.output_log_format_version()
    writer.output_comment("[hakmem calls; a value is a tenth of a nanosecond, Interval_Max is in nanoseconds]")
    writer.output_legend()
    for one in found:
        out.write(f"Tag={one.kind.replace(' ', '_')},")
        writer.output_interval_histogram(one.histogram, max_value_unit_ratio=tail.UNITS_PER_NS)
    return out.getvalue().encode()


def _percentiles(one: Latency) -> bytes:
    out = io.BytesIO()
    out.write(f"#[hakmem calls: {one.kind}, nanoseconds]\n".encode())
    one.histogram.output_percentile_distribution(out, tail.UNITS_PER_NS)
    return out.getvalue()
