"""How steady a soak was: drift, spread and the tail of its epochs, in the contract's terms.

Drift compares the mean of the last five epochs with the mean of the first five, RSS drift the last epoch with the
first; both in per cent of the first. Below ten epochs the two fives overlap and drift is understated.

The tail of throughput is its LOW side: p99 is what 99 % of the epochs reach. Latency is each epoch's nanoseconds per
operation (1e9 / throughput), its tail the high side; its percentiles are taken of those figures, they are not the
throughput percentiles turned over. An epoch is a mean over millions of calls, so this tail is the machine's and the
allocator's slow drift, never that of single calls (lab/tail.py has that).

Only the standard library is needed, so that the scripts work without the lab's packages.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ENDS = 5
WANTED_EPOCHS = 2 * ENDS
PERCENTS = (50.0, 90.0, 99.0, 99.9)


@dataclass(frozen=True)
class Spread:
    """Figures of at least one value. `stddev` is the sample's (n - 1); `cv` is stddev / mean in per cent."""

    mean: float
    median: float
    min: float
    max: float
    stddev: float
    cv: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Raises statistics.StatisticsError without values."""
        mean = statistics.fmean(values)
        deviation = statistics.stdev(values) if len(values) > 1 else 0.0
        cv = 100 * deviation / mean if mean else 0.0
        return cls(mean, statistics.median(values), min(values), max(values), deviation, cv)


def percentile(values: Sequence[float], percent: float) -> float:
    """Linear between the two neighbours in rank, as NumPy and R (type 7) do; `percent` in 0..100."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def drift_percent(first: float, last: float) -> float:
    """How much larger `last` is than `first`, in per cent of it; 0 when there is no first."""
    return 100 * (last - first) / first if first else 0.0


def ends(values: Sequence[float]) -> tuple[float, float]:
    """The means of the first and of the last five values (fewer, when there are not as many)."""
    return statistics.fmean(values[:ENDS]), statistics.fmean(values[-ENDS:])


@dataclass(frozen=True)
class Steadiness:
    """The contract's figures of one soak. Speed in operations a second, memory in MB, `drift` and `cv` in per cent."""

    epochs: int
    mean: float
    first5: float
    last5: float
    drift: float
    stddev: float
    cv: float
    first_rss_mb: float
    last_rss_mb: float
    peak_rss_mb: float
    rss_drift: float

    @classmethod
    def of(cls, throughput: Sequence[float], rss_mb: Sequence[float]) -> Steadiness:
        """Of at least one epoch; both lists have one entry an epoch."""
        spread, (first, last) = Spread.of(throughput), ends(throughput)
        return cls(
            epochs=len(throughput),
            mean=spread.mean,
            first5=first,
            last5=last,
            drift=drift_percent(first, last),
            stddev=spread.stddev,
            cv=spread.cv,
            first_rss_mb=rss_mb[0],
            last_rss_mb=rss_mb[-1],
            peak_rss_mb=max(rss_mb),
            rss_drift=drift_percent(rss_mb[0], rss_mb[-1]),
        )


@dataclass(frozen=True)
class EpochTail:
    """The epoch proxy of the tail. The lists follow PERCENTS; `cv` is the latency's stddev / mean in per cent."""

    epochs: int
    throughput_ops_s: list[float]
    latency_ns: list[float]
    p99_to_p50: float
    cv: float

    @classmethod
    def of(cls, throughput: Sequence[float]) -> EpochTail:
        """Raises ValueError when there is no epoch, or one without throughput."""
        if not throughput or min(throughput) <= 0:
            raise ValueError("a throughput is not above 0")
        latency = [1e9 / value for value in throughput]
        return cls(
            epochs=len(throughput),
            throughput_ops_s=[percentile(throughput, 100 - percent) for percent in PERCENTS],
            latency_ns=[percentile(latency, percent) for percent in PERCENTS],
            p99_to_p50=percentile(latency, 99) / percentile(latency, 50),
            cv=Spread.of(latency).cv,
        )


def relative_drift(throughput: Mapping[str, Sequence[float]], name: str) -> float | None:
    """Drift of `name` against the others, in per cent: of its speed over the mean speed of the others in each epoch.

    What slows the whole machine slows both sides of that ratio and drops out. None when there are no others. Epochs
    that not all of them finished are left out.
    """
    others = [values for other, values in throughput.items() if other != name]
    shared = min(len(values) for values in throughput.values())
    if not others or not shared:
        return None
    means = [statistics.fmean(values[i] for values in others) for i in range(shared)]
    return drift_percent(*ends([throughput[name][i] / means[i] for i in range(shared)]))
