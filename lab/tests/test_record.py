"""The record: what is in it, what must not be in it, and that nothing is written over."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lab import pairs, record, store
from lab.experiment import Experiment, outcome
from lab.model import Machine
from lab.tests.simulated import MIXED, allocator
from lab.tests.simulated import Machine as Simulated

MACHINE = Machine("CPU", 2, "6.1", "madvise", "", 4096, "glibc 2.36", "cc 12", "2026-01-02T03:04:05+00:00")
COMMAND = [str(record.ROOT / "build/bench/driver"), "/usr/bin/perl", "-x", "400"]


def experiment(**more) -> Experiment:
    machine = Simulated({"a": 0.2, "b": 0.25}, noise=0.01, interrupt_after=2 + 4 * 12 + 1)
    sides = [
        allocator("a", str(record.ROOT / "build/standard/libhakmem.so")),
        allocator("b", "/opt/secret/lib/libx.so"),
    ]
    sides[1] = replace(sides[1], env={"HAKMEM_PREWARM": "0"}, origin="/opt/secret/lib/libx.so")
    found = pairs.compare(
        replace(MIXED, command=COMMAND), sides, precision=None, witness=False, runner=machine.run, clock=machine.clock
    )
    made = Experiment("b against a", "ab", "run", MACHINE, [outcome(found, sides[1], 0.01)])
    return replace(made, **more)


def test_both_files_say_the_same(tmp_path):
    page = record.write(experiment(), "B against A!", tmp_path)
    facts = json.loads(page.with_suffix(".json").read_text())
    text = page.read_text()
    assert page.name == "2026-01-02-b-against-a.md"
    assert facts["verdict"] == "NO-GO" and "**Verdict**: NO-GO" in text
    assert facts["reason"] in text and facts["outcomes"][0]["interval"]["n"] == 12
    assert "2026-01-02-b-against-a.json" in text and "HAKMEM_PREWARM=0" in text
    for word in ("mean", "median", "min", "max", "stddev", "CV", "Linux 6.1", "glibc 2.36"):
        assert word in text


def test_every_run_is_kept(tmp_path):
    facts = json.loads(record.write(experiment(), "x", tmp_path).with_suffix(".json").read_text())
    runs = facts["comparisons"][0]["runs"]
    rows = [dict(zip(runs["columns"], row, strict=True)) for row in runs["rows"]]
    assert len(rows) == 2 + 12 * 4 + 1 and [row["order"] for row in rows] == list(range(51))
    assert [row["block"] for row in rows[:2]] == ["warm-up"] * 2 and rows[-1]["block"] == "unfinished"
    assert {row["name"] for row in rows if row["block"] == 11} == {"a", "b"}
    assert all(row["user_s"] > 0.1 for row in rows)


def test_no_path_of_the_machine_is_recorded(tmp_path):
    page = record.write(experiment(), "x", tmp_path)
    for path in (page, page.with_suffix(".json")):
        text = path.read_text()
        assert "/opt/secret" not in text and str(record.ROOT) not in text and "/usr/bin" not in text
        assert "build/standard/libhakmem.so" in text


def test_nothing_is_written_over(tmp_path):
    first, second = (record.write(experiment(), "x", tmp_path) for _ in range(2))
    assert first.stem + "-2" == second.stem and first.exists() and second.with_suffix(".json").exists()


def test_a_reason_that_is_given_is_the_one():
    text = record.markdown(experiment(reason="it costs a cache line"), "x.json")
    assert "NO-GO. it costs a cache line." in text


def test_a_price_list_has_no_verdict_of_its_own():
    text = record.markdown(experiment(kind="price"), "x.json")
    assert "**Verdict**" not in text and "| NO-GO" in text


@pytest.mark.parametrize(
    "words, expected",
    [
        ("tax=1 against tax=0, standard", "tax-1-against-tax-0-standard"),
        ("///", "experiment"),
        ("é" * 80, "experiment"),
    ],
)
def test_file_names(words, expected):
    assert record.slug(words) == expected


def test_every_json_begins_alike():
    begins = store.origin("tail")
    assert begins["kind"] == "tail" and begins["commit"] == store.commit() and begins["machine"]["date"]
    assert set(begins) <= set(record.as_json(experiment()))


def test_compact_json_is_the_same_json():
    facts = {"a": [1, 2, [3, "x [y] {z}\n  w"], []], "b": {"c": [[1.5, None], [True, '\\"']]}, "d": "[ 1,\n 2 ]"}
    assert json.loads(record.compact(facts)) == facts


def test_a_library_is_known_by_its_sum(tmp_path):
    library = tmp_path / "lib.so"
    library.write_bytes(b"x")
    assert record.side(allocator("a", str(library)))["sha256"] == "2d711642b726b044"
    assert "sha256" not in record.side(allocator("a", str(Path("/nowhere.so"))))
