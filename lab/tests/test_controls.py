"""The two bars of the contract, on a machine whose speed halves for minutes, and with counted instructions."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from lab import builds, controls, pairs
from lab.experiment import outcome
from lab.model import Workload
from lab.statistics import BAND_BUILD, BAND_RUN_TIME
from lab.tests.simulated import MIXED, Machine, allocator

SIDES = [allocator("a"), allocator("b")]
ROOT = Path(__file__).resolve().parents[2]


def on_a_machine(seed: int, cost: float, noise: float = 0.02):
    """A `compare` on one simulated machine, which goes on from experiment to experiment."""
    machine = Machine({"a": 0.2, "b": 0.2 * cost, "a-1": 0.2, "a-2": 0.2}, seed=seed, noise=noise)

    def compare(workload, sides, **how):
        return pairs.compare(
            workload, sides, **(how | {"witness": False, "runner": machine.run, "clock": machine.clock})
        )

    return compare


@pytest.mark.parametrize("noise, band", [(0.005, BAND_RUN_TIME), (0.03, BAND_RUN_TIME), (0.03, BAND_BUILD)])
def test_equal_sides_are_neutral(noise, band):
    done = controls.trials(controls.NEGATIVE, MIXED, SIDES, band=band, compare=on_a_machine(1, 1.0, noise))
    assert len(done.outcomes) == 40 and done.verdicts["NEUTRAL"] >= 38 and done.passed


@pytest.mark.parametrize("noise", [0.005, 0.03])
def test_a_tax_of_three_per_cent_is_no_go_in_five_minutes(noise):
    done = controls.trials(controls.POSITIVE, MIXED, SIDES, band=BAND_RUN_TIME, compare=on_a_machine(2, 1.03, noise))
    assert len(done.outcomes) == 10 and done.verdicts["NO-GO"] >= 9 and done.passed
    assert all(found.comparison.seconds <= 300 for found in done.outcomes)


def test_a_control_that_finds_the_wrong_thing_fails():
    few = replace(controls.NEGATIVE, trials=5)
    done = controls.trials(few, MIXED, SIDES, band=BAND_RUN_TIME, compare=on_a_machine(3, 1.03))
    assert not done.passed and "FAILED" in done.text() and "NO-GO" in done.text()
    assert not controls.Trials(controls.POSITIVE).passed


def test_power_of_a_quiet_machine_is_better():
    def smallest(noise):
        measured, powers = controls.measure_power(
            MIXED, allocator("a"), budget_s=200, band=BAND_BUILD, compare=on_a_machine(4, 1.0, noise)
        )
        assert measured.stopped == "budget" and [power.metric for power in powers] == ["cpu", "wall", "throughput"]
        assert len(controls.power_table(powers)) == 1 + 3 * 3
        return powers[0].found[1].seen

    assert smallest(0.005) < smallest(0.05) / 2


def instructions_of(sides):
    """Both sides counted: the driver on a few thousand steps of the mixed workload."""
    driver = ROOT / "build/bench/bench_random_mixed_system"
    if not driver.exists():
        subprocess.run([ROOT / "scripts/build_bench.sh", "system"], stdin=subprocess.DEVNULL, capture_output=True)
    if not driver.exists():
        pytest.skip("the benchmark driver cannot be built here")
    workload = Workload("mixed", "?", [str(driver), "200000", "400"])
    found = pairs.compare(
        workload, sides, min_pairs=1, max_pairs=1, metric="instructions", runner=pairs.counted, witness=False
    )
    return outcome(found, sides[1], BAND_RUN_TIME)


@pytest.fixture(scope="module")
def callgrind():
    if not shutil.which("valgrind") or not shutil.which("cmake"):
        pytest.skip("valgrind and cmake are needed")
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "true"], capture_output=True
    )
    if done.returncode != 0:
        pytest.skip("valgrind does not run here")


def test_the_tax_is_found_in_counted_instructions(callgrind):
    sides = builds.box_sides("tax")
    found = instructions_of(sides)
    assert found.verdict == "NO-GO"
    counts = {side.name: found.comparison.samples(side.name)[0].extra["instructions"] for side in sides}
    more = (counts["tax=1"] - counts["tax=0"]) / 200000
    assert 3.5 < more < 4.5  # four a call, and one call a step


def test_a_shut_box_costs_no_instruction(callgrind):
    as_it_is = builds.allocator("standard", builds.build("standard"))
    found = instructions_of([as_it_is, builds.box_sides("tax")[0]])
    assert found.verdict == "NEUTRAL" and abs(found.interval.change) < 0.001
