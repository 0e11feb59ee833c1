"""A core that somebody else has part of, at times: seen where it is, not seen where it is not, and what it changes."""

import random
from dataclasses import replace

import pytest

from lab import levels, pairs, record, sharing, verdict_text
from lab.experiment import Experiment, outcome
from lab.model import Sample
from lab.tests.simulated import MIXED, Machine, allocator
from lab.tests.test_record import MACHINE

SIDES = [allocator("a"), allocator("b")]


def compared(blocks=120, **machine) -> pairs.Comparison:
    simulated = Machine({"a": 0.2, "b": 0.2}, noise=0.01, **machine)
    return pairs.compare(
        MIXED, SIDES, budget_s=1e9, max_pairs=blocks, precision=None, witness=False, runner=simulated.run, clock=simulated.clock
    )  # fmt: skip


def quotients(seed, alone, shared):
    rng = random.Random(seed)
    return [1.06 * rng.gauss(1, 0.004) for _ in range(alone)] + [rng.uniform(1.2, 1.9) for _ in range(shared)]


@pytest.mark.parametrize("alone, shared", [(500, 0), (400, 100), (100, 400), (30, 470)])
def test_the_constant_of_a_core_to_itself_is_found(alone, shared):
    for seed in range(20):
        assert sharing.constant(quotients(seed, alone, shared)) == pytest.approx(1.05, abs=0.02)


def test_a_core_that_is_always_shared_has_no_constant():
    assert not any(sharing.constant(quotients(seed, 0, 500)) for seed in range(20))


def test_a_few_runs_say_nothing():
    assert sharing.constant(quotients(1, 5, 10)) is None


def test_an_effect_that_depends_on_the_core_is_told_apart():
    known = [sharing.of(compared(seed=seed, shared={"a": 1.25, "b": 1.45}), "b", "a") for seed in range(20)]
    assert all(found.matters and 0.2 < found.share < 0.8 for found in known)
    assert all(min(found.low.n, found.high.n) >= levels.FEWEST_PAIRS for found in known)
    assert sum(found.low.covers(1.0) for found in known) >= 17  # of 95 % intervals
    assert sum(found.high.covers(1.25 / 1.45) for found in known) >= 17


@pytest.mark.parametrize("costs", [(1.25, 1.45), (1.45, 1.25)])
def test_it_matters_whichever_side_gains(costs):
    assert sharing.of(compared(seed=7, shared=dict(zip("ab", costs, strict=True))), "b", "a").matters


def block(*runs) -> list[pairs.Run]:
    """Of (name, seconds, before, after) each."""
    return [pairs.Run(name, Sample(1 / s, s, s, 0.0, 2000, extra={"sharing": (x, y)})) for name, s, x, y in runs]


def test_each_half_of_a_block_counts_where_all_of_it_belongs():
    alone, shared = (1.06, 1.06), (1.5, 1.6)
    turned = block(("a", 0.2, *alone), ("b", 0.2, *alone), ("b", 0.4, *shared), ("a", 0.2, *shared))
    came = block(("a", 0.2, *alone), ("b", 9.0, 1.06, 1.5), ("b", 9.0, 1.5, 1.06), ("a", 0.2, *alone))
    partly = block(("a", 0.2, *shared), ("b", 9.0, 1.1, 1.5), ("b", 9.0, 1.1, 1.06), ("a", 0.2, *alone))
    found = sharing.of(replace(compared(1), blocks=[turned] * 10 + [came, partly] * 3), "b", "a")
    assert (found.low.n, found.low.median) == (10, 1.0)
    assert (found.high.n, found.high.median) == (10, 0.5)


def test_a_core_that_costs_both_the_same_does_not_matter():
    known = [sharing.of(compared(seed=seed, shared={"a": 1.3, "b": 1.3}), "b", "a") for seed in range(20)]
    assert all(found.low and found.high for found in known)
    assert sum(found.matters for found in known) <= 1


ALONE_ALL_THE_TIME = {"shared": {"a": 1.3}, "neighbour_turns": 1e9}


@pytest.mark.parametrize("machine", [{}, {"shared": {"a": 1.3}, "crowded": True}, ALONE_ALL_THE_TIME])
def test_nothing_is_said_where_nothing_is_known(machine):
    found = outcome(compared(30, **machine), SIDES[1], 0.01)
    assert found.levels is None and "core" not in " ".join(verdict_text.lines(found))


def test_too_few_pairs_are_no_interval():
    found = sharing.of(compared(12, seed=3, shared={"a": 1.25, "b": 1.45}), "b", "a")
    assert found.share > 0 and found.low is None and not found.matters
    assert "too few pairs" in found.lines()[0] and found.rows() == []


def test_runs_without_the_figure_do_not_count():
    comparison = compared(shared={"a": 1.25, "b": 1.45})
    bare = [[replace(run, sample=replace(run.sample, extra={})) for run in block] for block in comparison.blocks]
    assert sharing.of(replace(comparison, blocks=bare), "b", "a") is None


def test_a_half_that_lacks_one_figure_does_not_count():
    comparison = compared(shared={"a": 1.25, "b": 1.45})
    for runs in comparison.blocks:
        for place in (0, 3):
            runs[place] = replace(runs[place], sample=Sample(1e7, 0.2, 0.2, 0.0, 2000))
    found = sharing.of(comparison, "b", "a")
    assert found.share > 0 and found.low is None


def test_people_and_programs_are_told():
    found = outcome(compared(shared={"a": 1.25, "b": 1.45}), SIDES[1], 0.01)
    text = " ".join(verdict_text.lines(found))
    assert "depends on who shares the core" in text and str(found.levels.low) in text
    made = Experiment("b against a", "ab", "run", MACHINE, [found])
    facts = record.as_json(made)
    assert facts["outcomes"][0]["sharing"]["shared"]["n"] == found.levels.high.n
    runs = facts["comparisons"][0]["runs"]
    assert all(row[runs["columns"].index("after")] > 1 for row in runs["rows"])
    assert f"{found.levels.low} | {found.levels.low.n} pairs | the core to itself" in record.markdown(made, "x.json")
