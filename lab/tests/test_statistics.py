"""Statistics against noise whose truth is known, and against closed forms."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab import statistics
from lab.statistics import Interval


def noisy(change: float, blocks: int, seed: int, noise: float = 0.02) -> np.ndarray:
    """Ratios with heavy tails: one block in eight is off by up to 40 % either way."""
    rng = np.random.default_rng(seed)
    hit = (rng.random(blocks) < 1 / 8) * rng.uniform(-0.4, 0.4, blocks)
    return (1 + change) * np.exp(rng.normal(0, noise, blocks) + hit)


@pytest.mark.parametrize("change", [0.0, -0.03, 0.25])
def test_the_interval_covers_the_truth_as_often_as_it_says(change):
    covered = sum(statistics.ratio_interval(noisy(change, 40, seed)).covers(1 + change) for seed in range(100))
    assert covered >= 88  # 95 expected; these seeds are fixed, so this is no chance


def test_outliers_do_not_move_it():
    ratios = list(np.linspace(0.99, 1.01, 41)) + [0.5, 2.0, 5.0, 9.0]
    assert abs(statistics.ratio_interval(ratios).median - 1) < 0.002


def test_more_blocks_narrow_it():
    assert (
        statistics.ratio_interval(noisy(0, 400, 1)).half_width
        < statistics.ratio_interval(noisy(0, 20, 1)).half_width / 2
    )


def test_the_same_ratios_give_the_same_interval():
    assert statistics.ratio_interval(noisy(0, 30, 1)) == statistics.ratio_interval(noisy(0, 30, 1))


def test_a_single_ratio_and_equal_ones_are_their_own_interval():
    assert statistics.ratio_interval([1.5]) == Interval(1.5, 1.5, 1.5, 1)
    assert statistics.ratio_interval([0.9] * 7) == Interval(0.9, 0.9, 0.9, 7)


@pytest.mark.parametrize("ratios", [[], [1.0, math.nan], [1.0, 0.0], [1.0, -1.0], [math.inf], [[1.0]]])
def test_what_is_not_a_ratio_is_refused(ratios):
    with pytest.raises(ValueError):
        statistics.ratio_interval(ratios)


@given(st.lists(st.floats(0.2, 5), min_size=2, max_size=30))
def test_the_interval_surrounds_its_median_and_stays_in_the_data(ratios):
    found = statistics.ratio_interval(ratios)
    assert min(ratios) <= found.low <= found.median <= found.high <= max(ratios)


@pytest.mark.parametrize(
    "low, median, high, expected",
    [
        (1.008, 1.012, 1.015, "GO"),
        (1.005, 1.010, 1.015, "GO"),  # +1.0 % or better
        (1.005, 1.0099, 1.015, "NEUTRAL"),  # inside the band
        (0.999, 1.020, 1.040, "NEUTRAL"),  # covers zero
        (0.985, 0.990, 0.995, "NO-GO"),
        (0.960, 0.970, 1.001, "NEUTRAL"),
        (0.991, 0.992, 0.993, "NEUTRAL"),
        (0.960, 0.970, 0.980, "NO-GO"),
    ],
)
def test_the_verdict_is_the_contracts(low, median, high, expected):
    assert statistics.verdict(Interval(median, low, high, 20)) == expected


def test_the_build_band_is_half():
    interval = Interval(1.006, 1.004, 1.008, 20)
    assert statistics.verdict(interval, statistics.BAND_BUILD) == "GO"
    assert statistics.verdict(interval, statistics.BAND_RUN_TIME) == "NEUTRAL"


def test_noise_says_how_many_more_blocks():
    found = statistics.noise(Interval(1.0, 0.98, 1.02, 25))
    assert found.too_noisy and found.more_blocks == 16 * 25 - 25


def test_an_answer_is_not_noise():
    assert not statistics.noise(Interval(1.0, 0.996, 1.004, 25)).too_noisy
    assert statistics.noise(Interval(1.0, 0.996, 1.004, 25)).more_blocks == 0
    assert not statistics.noise(Interval(0.9, 0.85, 0.95, 25)).too_noisy


def test_the_summary_is_the_contracts():
    found = statistics.summary([1, 2, 3, 4, 10])
    assert (found.n, found.mean, found.median, found.min, found.max) == (5, 4, 3, 1, 10)
    assert found.stddev == pytest.approx(math.sqrt(12.5)) and found.cv == pytest.approx(math.sqrt(12.5) / 4)
    assert statistics.summary([7]).stddev == 0
    with pytest.raises(ValueError):
        statistics.summary([])


def test_power_follows_the_closed_form_of_normal_noise():
    ratios = 1 + np.random.default_rng(1).normal(0, 0.02, 4000)
    found = statistics.power(ratios, 0.6, budgets_s=(60, 1200), band=0.01)
    for one in found:
        expected = (1.96 + 1.2816) * 0.02 * math.sqrt(math.pi / 2 / one.blocks)
        assert one.seen == pytest.approx(expected, rel=0.15)
        assert one.called >= max(one.seen, 0.01)
    assert found[1].blocks == 2000 and found[1].seen < found[0].seen / 3


def test_few_blocks_foretell_many():
    ratios = 1 + np.random.default_rng(2).normal(0, 0.02, 60)
    one, four = statistics.power(ratios, 1.0, budgets_s=(300, 1200))
    assert four.seen == pytest.approx(one.seen / 2)


def test_a_change_of_that_size_is_found_and_half_of_it_often_not():
    blocks = 100
    smallest = statistics.power(noisy(0, 3000, 7), 1.0, budgets_s=(blocks,), band=0.005)[0].called

    def called(change: float) -> int:
        found = (statistics.ratio_interval(noisy(change, blocks, seed)) for seed in range(60))
        return sum(statistics.verdict(interval, 0.005) == "NO-GO" for interval in found)

    assert called(-smallest) >= 48  # nine in ten of 60 is 54
    assert called(-smallest / 2) <= 42
