"""Cores that are near each other, and far at times: seen where it is, not seen where it is not, and what it changes."""

import random
from dataclasses import replace

import pytest

from lab import bench_tables, distance, levels, pairs, record, verdict_text
from lab.experiment import Experiment, outcome
from lab.model import Sample
from lab.tests.simulated import MIXED, Machine, allocator
from lab.tests.test_record import MACHINE

SIDES = [allocator("a"), allocator("b")]
NEAR, FAR = (80, 80), (420, 420)


def run(name, seconds, ends) -> pairs.Run:
    return pairs.Run(name, Sample(1 / seconds, seconds, seconds, 0.0, 2000, extra={"distance": ends}))


def block(a, b, ends) -> list[pairs.Run]:
    return [run("a", a, ends), run("b", b, ends), run("b", b, ends), run("a", a, ends)]


def compared(seed=1, blocks=60, far=0.4, cost=1.5) -> pairs.Comparison:
    """Of b, which is as fast as a on near cores, and takes `cost` times as long on far ones; far from each other at such a share of the blocks."""
    rng = random.Random(seed)
    made = []
    for _ in range(blocks):
        level, costs = (FAR, {"a": 0.2, "b": 0.2 * cost}) if rng.random() < far else (NEAR, {"a": 0.2, "b": 0.2})
        ends = tuple(value * rng.uniform(0.9, 1.3) for value in level)
        made.append([run(name, costs[name] * rng.gauss(1, 0.01), ends) for name in "abba"])
    empty = pairs.compare(
        MIXED, SIDES, budget_s=1e9, max_pairs=1, precision=None, witness=False, runner=Machine({"a": 0.2, "b": 0.2}).run
    )
    return replace(empty, blocks=made)


def test_an_effect_that_depends_on_the_cores_is_told_apart():
    known = [distance.of(compared(seed), "b", "a") for seed in range(20)]
    assert all(found.matters and 0.1 < found.share < 0.7 for found in known)
    assert sum(found.low.covers(1.0) for found in known) >= 17  # of 95 % intervals
    assert sum(found.high.covers(1 / 1.5) for found in known) >= 17


def test_cores_that_cost_both_the_same_do_not_matter():
    known = [distance.of(compared(seed, cost=1.0), "b", "a") for seed in range(20)]
    assert all(found.low and found.high for found in known)
    assert sum(found.matters for found in known) <= 1


@pytest.mark.parametrize("far", [0.0, 1.0])
def test_nothing_is_said_where_the_cores_stay(far):
    found = outcome(compared(far=far), SIDES[1], 0.01)
    assert found.levels is None and "cores" not in " ".join(verdict_text.lines(found))


def test_one_disturbed_run_is_no_level():
    comparison = compared(far=0.0)
    comparison.blocks[7][1] = run("b", 0.2, (80, 420))
    assert distance.seen(comparison) is None


def test_a_few_runs_say_nothing():
    assert distance.of(compared(blocks=2), "b", "a") is None


def test_too_few_pairs_are_no_interval():
    found = distance.of(compared(blocks=8), "b", "a")
    assert found.share > 0 and found.low is None and "too few pairs" in found.lines()[0]


def test_what_lies_between_counts_as_neither():
    made = [block(0.2, 0.2, NEAR)] * 10 + [block(0.2, 0.2, FAR)] * 10
    turned = [block(0.2, 9.0, ends) for ends in ((80, 420), (160, 160), (420, 80))]
    found = distance.of(replace(compared(), blocks=made + turned), "b", "a")
    assert (found.low.n, found.low.median, found.high.n, found.high.median) == (20, 1.0, 20, 1.0)


def test_people_and_programs_are_told():
    comparison = compared()
    found = outcome(comparison, SIDES[1], 0.01)
    text = " ".join(verdict_text.lines(found))
    assert "depends on where the cores are" in text and str(found.levels.low) in text
    made = Experiment("b against a", "ab", "run", MACHINE, [found])
    facts = record.as_json(made)
    assert facts["outcomes"][0]["sharing"] is None
    assert facts["outcomes"][0]["distance"]["far"]["n"] == found.levels.high.n
    runs = facts["comparisons"][0]["runs"]
    assert all(row[runs["columns"].index("before")] > 70 for row in runs["rows"] if row[0] != "warm-up")
    assert f"{found.levels.low.n} pairs | the cores near each other" in record.markdown(made, "x.json")


def test_bench_says_how_much_of_the_time():
    kinds = [kind.KIND for kind in bench_tables.KINDS]
    assert distance.KIND in kinds and len({kind.key for kind in kinds}) == len(kinds)
    assert levels.Levels(distance.KIND, 0.25).lines()[0].startswith("  the two cores were far from each other 25 % of the time")
