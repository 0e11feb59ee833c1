"""How far the cores were from each other: what that does to a comparison of programs with several threads.

Two processors of a virtual machine may lie on one core or in one cluster of cores, or in two clusters, and the host moves them for seconds to minutes. A word
that both write by turns then takes 80 ns there and back, or 420 (two EPYC cores, Zen 5). So does every line of the cache that an allocator lets go from thread
to thread: of two libraries that are level on near cores the one may be a third slower on far ones (docs/experiments/large-blocks-at-hand.md).

Around every run of several threads lab/native/child.c measures that time, if the run may use two processors: of more nobody knows which it is on. This module looks
whether there were two levels, and gives an interval for each (lab/levels.py). A run counts as near up to NEAR_TO times the lowest times, as far from FAR_FROM times
those on, else as neither: a machine whose cores are always near, or always far, has times within a third of each other.
"""

from __future__ import annotations

import numpy as np

from lab import levels
from lab.pairs import Comparison

LOWEST = 5  # per cent of the times are left out below
NEAR_TO = 1.8
FAR_FROM = 2.5
FEWEST_TIMES = 20
LEAST_SHARE = 0.02  # one run that was disturbed is no level
KIND = levels.Kind(
    key="distance",
    low="near",
    high="far",
    words="the two cores were far from each other",
    low_place="the cores near each other",
    high_place="the cores far from each other",
    depends="where the cores are",
)


def seen(comparison: Comparison) -> tuple[float, float] | None:
    """The time that is short, and at which share of the runs' ends it was long; None where it was one all the time."""
    times = levels.figures(comparison, KIND)
    if len(times) < FEWEST_TIMES:
        return None
    short = float(np.percentile(times, LOWEST))
    share = sum(time > short * FAR_FROM for time in times) / len(times)
    return (short, share) if share >= LEAST_SHARE else None


def of(comparison: Comparison, candidate: str, reference: str) -> levels.Levels | None:
    """What is known of the two levels; None when there were not two."""
    found = seen(comparison)
    if not found:
        return None
    short, share = found
    return levels.split(comparison, KIND, share, (candidate, reference), short * NEAR_TO, short * FAR_FROM)
