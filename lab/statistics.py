"""From ratios of interleaved runs to an interval, a verdict and what it would take to know more.

One block of a comparison (lab/pairs.py) gives one ratio, candidate speed over reference speed: 1.02 is a candidate
that is 2 % faster. Everything here takes such ratios, one a block, in any order.

- The estimate is the median: half of the blocks may be spoilt by a neighbour before it moves far.
- The interval is the percentile bootstrap of the median (Efron and Tibshirani 1993, ch. 13; scipy.stats.bootstrap),
  seeded, so that the same ratios always give the same interval. BCa is not used: its acceleration comes from a
  jackknife, which is not consistent for a median (ibid., 11.6).
- The verdict is the contract's: GO at `band` or better, NO-GO at -`band` or worse, NEUTRAL inside the band or when
  the interval covers zero.

A comparison wants MINIMUM_BLOCKS: with fewer the bootstrap's interval is too narrow, since it cannot know what it never
saw. With fewer than FEWEST_BLOCKS there is no verdict: even blocks that all agree say nothing about a median with 95 %
confidence (2 * 0.5^n <= 0.05 asks for six).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import stats

from lab.spoken import signed

BAND_RUN_TIME = 0.010
BAND_BUILD = 0.005
MINIMUM_BLOCKS = 10
FEWEST_BLOCKS = 6
RESAMPLES = 4999


@dataclass(frozen=True)
class Interval:
    """The median of `n` ratios and where the true one lies with the confidence that was asked for."""

    median: float
    low: float
    high: float
    n: int

    @property
    def half_width(self) -> float:
        """Half of the interval, in units of the ratio (0.005 is half a per cent)."""
        return (self.high - self.low) / 2

    @property
    def change(self) -> float:
        """The median as a change: 0.02 is 2 % faster."""
        return self.median - 1

    def covers(self, ratio: float = 1.0) -> bool:
        """Whether `ratio` may be the true one."""
        return self.low <= ratio <= self.high

    @property
    def told(self) -> bool:
        """Whether there are ratios enough for the confidence; if not, `low` and `high` are only where they lie."""
        return self.n >= FEWEST_BLOCKS

    def ends(self, said: Callable[[float], str]) -> str:
        """The interval in brackets, each end as `said` has it; or how few blocks there are, which have none."""
        if self.told:
            return f"[{said(self.low)}, {said(self.high)}]"
        return "[one block]" if self.n == 1 else f"[{self.n} blocks]"

    def json(self) -> dict[str, Any]:
        """For JSON, without ends that the ratios cannot carry."""
        return asdict(self) | ({} if self.told else {"low": None, "high": None})

    def __str__(self) -> str:
        return f"{signed(100 * self.change)} % {self.ends(lambda end: signed(100 * (end - 1)))}"


@dataclass(frozen=True)
class Noise:
    """How far the interval is from telling a change of the band's size; see `noise`."""

    half_width: float
    wanted: float
    more_blocks: int
    too_noisy: bool


@dataclass(frozen=True)
class Summary:
    """The contract's figures of a list of runs. `stddev` is the sample's (n - 1), `cv` is stddev / mean."""

    n: int
    mean: float
    median: float
    min: float
    max: float
    stddev: float
    cv: float


@dataclass(frozen=True)
class Power:
    """The smallest changes that `budget_s` seconds find; fractions, 0.01 is 1 %.

    `seen`: the interval leaves zero. `called`: the verdict is GO or NO-GO. Each in nine of ten experiments.
    """

    budget_s: float
    blocks: int
    seen: float
    called: float


def ratio_interval(
    pairs: Sequence[float] | np.ndarray, confidence: float = 0.95, seed: int = 0, resamples: int = RESAMPLES
) -> Interval:
    """The median of the ratios and its bootstrap interval. A tenth of the resamples is enough to judge its width.

    Raises ValueError without ratios, or when one is not a finite number above zero. One ratio alone is its own interval.
    """
    ratios = np.asarray(pairs, dtype=float)
    if ratios.ndim != 1 or ratios.size == 0:
        raise ValueError("an interval needs at least one ratio")
    if not (np.isfinite(ratios).all() and (ratios > 0).all()):
        raise ValueError("ratios are finite numbers above zero")
    median = float(np.median(ratios))
    if ratios.min() == ratios.max():
        return Interval(median, median, median, ratios.size)
    found = stats.bootstrap(
        (ratios,),
        np.median,
        n_resamples=resamples,
        batch=max(1, 2_000_000 // ratios.size),
        confidence_level=confidence,
        method="percentile",
        random_state=np.random.default_rng(seed),
    ).confidence_interval
    return Interval(median, float(found.low), float(found.high), ratios.size)


def verdict(interval: Interval, band: float = BAND_RUN_TIME) -> str:
    """'GO', 'NEUTRAL' or 'NO-GO' by the contract's decision rule; `band` is a fraction."""
    tolerance = 1e-9
    if interval.covers(1.0) or abs(interval.change) < band - tolerance:
        return "NEUTRAL"
    return "GO" if interval.change > 0 else "NO-GO"


def noise(interval: Interval, band: float = BAND_RUN_TIME) -> Noise:
    """Whether a NEUTRAL is an answer or only noise, and how many more blocks an answer would take.

    It is noise when the interval reaches beyond the band while it covers zero: a change worth having may hide in it.
    An answer needs a half width of half the band; the width shrinks with the root of the number of blocks.
    """
    wanted = band / 2
    hidden = interval.covers(1.0) and (interval.low < 1 - band or interval.high > 1 + band)
    needed = math.ceil(interval.n * (interval.half_width / wanted) ** 2 - 1e-6)
    return Noise(interval.half_width, wanted, max(0, max(needed, MINIMUM_BLOCKS) - interval.n), hidden)


def summary(values: Sequence[float]) -> Summary:
    """Mean, median, minimum, maximum, standard deviation and coefficient of variation of at least one value."""
    data = np.asarray(values, dtype=float)
    if data.size == 0:
        raise ValueError("a summary needs at least one value")
    mean = float(data.mean())
    deviation = float(data.std(ddof=1)) if data.size > 1 else 0.0
    cv = deviation / mean if mean else 0.0
    return Summary(data.size, mean, float(np.median(data)), float(data.min()), float(data.max()), deviation, cv)


def median_error(ratios: Sequence[float] | np.ndarray, blocks: int, seed: int = 0) -> float:
    """The standard error that the median of `blocks` ratios has, when they are noisy like these.

    It is bootstrapped at the size of the data and scaled with the root: drawing more blocks than there are ratios would
    see the gaps between them.
    """
    data = np.asarray(ratios, dtype=float)
    drawn = np.random.default_rng(seed).choice(data, size=(500, data.size), replace=True)
    return float(np.median(drawn, axis=1).std(ddof=1)) * math.sqrt(data.size / blocks)


def power(
    ratios: Sequence[float] | np.ndarray,
    seconds_per_block: float,
    budgets_s: Sequence[float] = (60, 300, 1200),
    band: float = BAND_RUN_TIME,
    chance: float = 0.9,
    seed: int = 0,
) -> list[Power]:
    """The smallest change that is found in each budget, from the ratios of A against A.

    The interval's half width is 1.96 standard errors of the median; a change is seen with the given chance when it is
    larger by that chance's normal quantile more. To be called it must also leave the band with the same chance.
    """
    found = []
    beyond = float(stats.norm.ppf(chance))
    for budget in budgets_s:
        blocks = max(MINIMUM_BLOCKS, int(budget / seconds_per_block))
        error = median_error(ratios, blocks, seed)
        seen = (float(stats.norm.ppf(0.975)) + beyond) * error
        found.append(Power(budget, blocks, seen, max(seen, band + beyond * error)))
    return found
