"""Steadiness figures against hand calculation and against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab import steadiness

SPEEDS = st.lists(st.floats(1, 1e9), min_size=1, max_size=60)


@given(SPEEDS, st.floats(0, 100))
def test_percentiles_are_numpys(values, percent):
    assert steadiness.percentile(values, percent) == pytest.approx(np.percentile(values, percent), rel=1e-9)


@given(SPEEDS)
def test_spread_is_numpys(values):
    spread = steadiness.Spread.of(values)
    assert spread.mean == pytest.approx(np.mean(values))
    assert spread.median == pytest.approx(np.median(values))
    assert (spread.min, spread.max) == (min(values), max(values))
    expected = np.std(values, ddof=1) if len(values) > 1 else 0
    assert spread.stddev == pytest.approx(expected, rel=1e-6, abs=1e-5)
    assert spread.cv == pytest.approx(100 * expected / np.mean(values), rel=1e-6, abs=1e-5)


def test_figures_of_a_soak():
    figures = steadiness.Steadiness.of([1000 + 10 * i for i in range(11)], [2 + 0.1 * i for i in range(11)])
    assert (figures.epochs, figures.mean, figures.first5, figures.last5) == (11, 1050, 1020, 1080)
    assert figures.drift == pytest.approx(100 * 60 / 1020)
    assert (figures.first_rss_mb, figures.last_rss_mb, figures.peak_rss_mb) == (2, 3, 3)
    assert figures.rss_drift == pytest.approx(50)


def test_one_epoch_has_no_drift():
    figures = steadiness.Steadiness.of([5.0], [1.0])
    assert (figures.drift, figures.stddev, figures.cv, figures.rss_drift) == (0, 0, 0, 0)


def test_drift_from_nothing_is_none():
    assert steadiness.drift_percent(0, 5) == 0
    assert steadiness.drift_percent(100, 95) == -5


def test_the_tail_of_throughput_is_its_low_side():
    tail = steadiness.EpochTail.of([1e6 * (i + 1) for i in range(101)])
    assert tail.throughput_ops_s == pytest.approx([51e6, 11e6, 2e6, 1.1e6])
    assert tail.latency_ns == pytest.approx([1000 / 51, 1000 / 11, 500, 950])
    assert tail.p99_to_p50 == pytest.approx(25.5)


@pytest.mark.parametrize("speeds", [[], [1.0, 0.0]])
def test_a_tail_needs_throughput(speeds):
    with pytest.raises(ValueError):
        steadiness.EpochTail.of(speeds)


def test_drift_of_the_machine_is_nobodys_drift():
    machine = [1 - 0.04 * i for i in range(12)]
    speeds = {"a": [50 * m for m in machine], "b": [80 * m for m in machine], "c": [60 * m for m in machine]}
    assert steadiness.Steadiness.of(speeds["a"], [1] * 12).drift < -20
    for name in speeds:
        assert steadiness.relative_drift(speeds, name) == pytest.approx(0, abs=1e-9)


def test_drift_of_one_allocator_shows_through_that_of_the_machine():
    machine = [1.0, 0.5] * 10
    fading = [100 * m * (1 - 0.01 * i) for i, m in enumerate(machine)]
    speeds = {"fading": fading, "steady": [100 * m for m in machine]}
    assert steadiness.relative_drift(speeds, "fading") == pytest.approx(100 * (0.83 / 0.98 - 1))


def test_relative_drift_needs_others_and_shared_epochs():
    assert steadiness.relative_drift({"a": [1.0, 2.0]}, "a") is None
    assert steadiness.relative_drift({"a": [1.0], "b": []}, "a") is None
    assert steadiness.relative_drift({"a": [10.0, 10.0, 1.0], "b": [10.0, 10.0]}, "a") == 0
