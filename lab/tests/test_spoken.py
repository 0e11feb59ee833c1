"""One is one, and nothing has no sign."""

from __future__ import annotations


import pytest

from lab import tail_table
from lab.explain import identity
from lab.scorecard import words
from lab.spoken import counted, signed
from lab.statistics import Interval


def test_one_is_one() -> None:
    assert [counted(n, "block") for n in (0, 1, 2, 1500)] == ["0 blocks", "1 block", "2 blocks", "1,500 blocks"]
    assert [counted(n, "size class", "size classes") for n in (1, 2)] == ["1 size class", "2 size classes"]
    assert identity.left_out(1).startswith("1 record was left out: it") and identity.left_out(2).startswith("2 records were")


def test_one_epoch_is_no_epochs() -> None:
    assert tail_table.epochs({"a": [1e6]})[-1] == "with 1 epoch p99 and p99.9 are little but the worst epoch"


@pytest.mark.parametrize(("value", "said"), [(-0.001, "0.00"), (0.0, "0.00"), (0.004, "0.00"), (-0.01, "-0.01"), (1.25, "+1.25")])
def test_nothing_has_no_sign(value: float, said: str) -> None:
    assert signed(value) == said


def test_intervals_and_changes_that_are_nothing() -> None:
    assert str(Interval(1.0, 0.99999, 1.00001, 10)) == "0.00 % [0.00, 0.00]"
    assert words.signed(-0.00001) == "0.0 %" and words.signed(0.012) == "+1.2 %"
