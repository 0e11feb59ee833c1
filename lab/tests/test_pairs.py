"""The order of runs, the stop rule and Ctrl-C, on a simulated machine."""

import random
from dataclasses import replace

import pytest

from lab import pairs, statistics
from lab.errors import LabError
from lab.model import Sample, Workload
from lab.tests.simulated import MIXED, Machine, allocator

SIDES = [allocator("a"), allocator("b")]


def compare(machine, sides=SIDES, workload=MIXED, **how):
    how = {"witness": False, "runner": machine.run, "clock": machine.clock} | how
    return pairs.compare(workload, sides, **how)


def test_every_block_is_an_order_and_its_mirror():
    blocks = pairs.schedule(["a", "b", "c"], 50, random.Random(1))
    assert len(blocks) == 50
    for block in blocks:
        assert sorted(block) == ["a", "a", "b", "b", "c", "c"] and block == block[::-1]
    assert len({tuple(block) for block in blocks}) == 6


def test_two_sides_are_abba_or_baab_as_often():
    first = [block[0] for block in pairs.schedule(["a", "b"], 400, random.Random(1))]
    assert 150 < first.count("a") < 250


def test_the_seed_decides_the_order():
    assert pairs.schedule("ab", 20, random.Random(3)) == pairs.schedule("ab", 20, random.Random(3))


def test_a_drift_within_a_block_cancels():
    costs = (1.01**i for i in range(100))

    def drifting(workload, side, *, cpu=None):
        cost = next(costs)
        return Sample(1.0, cost, cost, 0.0, 0)

    found = pairs.compare(MIXED, SIDES, min_pairs=5, max_pairs=5, witness=False, runner=drifting)
    assert found.ratios("b", "a") == pytest.approx([1.0] * 5)


def test_the_ratio_is_of_speeds():
    machine = Machine({"a": 0.1, "b": 0.2}, noise=0)
    found = compare(machine, max_pairs=30)
    for metric in ("cpu", "wall", "throughput"):
        assert found.interval("b", metric=metric).median == pytest.approx(0.5, rel=0.05)
    assert found.interval("a", "b").median == pytest.approx(2, rel=0.05)


def test_a_value_in_seconds_is_a_cost():
    workload = Workload("w", "?", ["x"], unit="s", higher_is_better=False)
    assert pairs.speed(Sample(4.0, 1, 1, 0, 0), workload, "throughput") == 0.25


def test_a_sample_without_the_metric_is_an_error():
    with pytest.raises(LabError, match="cpu"):
        pairs.speed(Sample(1.0, 1, 0, 0, 0), MIXED, "cpu")


def test_it_stops_when_the_interval_is_narrow_enough():
    found = compare(Machine({"a": 0.2, "b": 0.2}, noise=0.005), budget_s=3000)
    assert found.stopped == "precision" and found.interval("b").half_width <= 0.005
    assert len(found.blocks) >= statistics.MINIMUM_BLOCKS


def test_it_stops_before_the_budget_is_overrun():
    found = compare(Machine({"a": 0.2, "b": 0.2}, noise=0.2), budget_s=30)
    assert found.stopped == "budget" and 20 < found.seconds <= 30


def test_a_budget_too_small_gives_one_block():
    found = compare(Machine({"a": 0.2, "b": 0.2}), budget_s=0.1)
    assert found.stopped == "budget" and len(found.blocks) == 1


def test_it_stops_at_most_pairs():
    found = compare(Machine({"a": 0.2, "b": 0.2}, noise=0.2), budget_s=3000, max_pairs=12)
    assert found.stopped == "pairs" and len(found.blocks) == 12


def test_the_sign_of_a_change_does_not_stop_it():
    fast = compare(Machine({"a": 0.2, "b": 0.1}, noise=0.05), budget_s=60)
    assert fast.stopped == "budget"


def test_interruption_keeps_what_was_measured():
    found = compare(Machine({"a": 0.2, "b": 0.2}, interrupt_after=2 + 4 * 7 + 3), budget_s=3000)
    assert found.stopped == "interrupted"
    assert (len(found.warm_up), len(found.blocks), len(found.unfinished)) == (2, 7, 3)
    assert found.interval("b").n == 7


def test_interruption_at_once_keeps_nothing_and_says_so():
    found = compare(Machine({"a": 0.2, "b": 0.2}, interrupt_after=0))
    assert found.stopped == "interrupted" and not found.blocks and found.seconds_per_block == 0


def test_every_run_is_numbered_and_told():
    told = []
    found = compare(
        Machine({"a": 0.2, "b": 0.2}), max_pairs=3, min_pairs=3, on_progress=lambda c: told.append(c.seconds)
    )
    orders = [run.sample.order for run in found.warm_up + [run for block in found.blocks for run in block]]
    assert orders == list(range(14)) and len(told) == 14 and told == sorted(told)


def test_one_thread_is_pinned_and_several_are_not():
    machine = Machine({"a": 0.2, "b": 0.2})
    assert compare(machine, max_pairs=1).cpu is not None
    assert compare(machine, max_pairs=1, cpu=-1).cpu is None
    found = compare(machine, workload=replace(MIXED, threads=4), max_pairs=1)
    assert found.cpu is None and found.metric == "throughput"
    assert machine.runs[-1][1] is None


def test_many_sides_share_their_blocks():
    sides = [allocator(name) for name in "abcd"]
    found = compare(Machine({"a": 0.2, "b": 0.1, "c": 0.4, "d": 0.2}, noise=0.001), sides, max_pairs=20)
    assert found.interval("c").median == pytest.approx(0.5, rel=0.03)
    assert found.interval("c", "b").median == pytest.approx(0.25, rel=0.03)


def test_equal_names_are_refused():
    with pytest.raises(ValueError):
        compare(Machine({"a": 1}), [allocator("a"), allocator("a")])


def test_the_witness_comes_before_the_first_run(tmp_path):
    machine = Machine({"a": 0.2, "b": 0.2})
    wrong = [allocator("a", str(tmp_path / "nowhere.so")), allocator("b")]
    with pytest.raises(LabError):
        compare(machine, wrong, workload=replace(MIXED, command=["true"]), witness=True)
    assert not machine.runs
