"""The suite: its table, and each of its programs with very little work."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from lab import programs, run, suite, workloads
from lab.errors import AskedWrongly

SOURCES = sorted(path for path in (programs.ROOT / "bench/suite").glob("*.c*") if path.name != "suite.c")
LINE = re.compile(r"^Throughput = \d+ ops/s \[iter=(\d+) ws=(\d+)\] time=\d+\.\d+s$", re.M)
TINY = {"fork_storm": "3", "huge": "20", "growing_vector": "50"}
TINY_SET = {"tree": "6", "growing_vector": "2", "sharing_active": "10", "sharing_passive": "10"}


def rows():
    return [row for row in suite.ROWS if not row.mode]


def tiny(row, extra=(), **env):
    """One run of the row's driver with hardly any work, under glibc."""
    command = [programs.ready() / suite.driver_of(row), TINY.get(row.name, "2000"), TINY_SET.get(row.name, "50"), *extra]
    if not command[0].exists():
        pytest.skip(f"{command[0].name} was not built: no C++ compiler")
    values = {"PATH": os.defpath, "BENCH_THREADS": str(row.threads), "BENCH_RSS": "1", **env}
    return subprocess.run(command, env=values, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.name)
def test_each_program_prints_the_contracts_line_and_its_peak(row):
    done = tiny(row)
    assert done.returncode == 0, done.stderr
    assert LINE.fullmatch(done.stdout.strip()), done.stdout
    assert int(run.PEAK.findall(done.stderr)[-1]) > 100


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.name)
def test_the_work_follows_from_the_arguments_and_the_seed(row):
    first, second = tiny(row, ["7"]), tiny(row, ["7"])
    assert LINE.search(first.stdout)[1] == LINE.search(second.stdout)[1]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.name)
def test_bad_arguments_end_with_status_2(row):
    path = programs.ready() / suite.driver_of(row)
    if not path.exists():
        pytest.skip("no C++ compiler")
    cases = (["x"], ["0"], ["1", "0"], ["1", "-1"], ["1", "2", "3x"], ["1", "2", "3", "4"], ["-h"])
    for words in cases:
        done = subprocess.run([path, *words], env={}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        assert done.returncode == 2 and done.stderr and not done.stdout, words
    done = subprocess.run([path, "1"], env={"BENCH_THREADS": "0"}, capture_output=True, stdin=subprocess.DEVNULL, timeout=120)
    assert done.returncode == 2 and b"BENCH_THREADS" in done.stderr


def test_no_memory_is_said_and_ends_with_status_1():
    row = next(row for row in suite.ROWS if row.name == "burst_lifo")
    command = [programs.ready() / suite.driver_of(row), "3000000", "3000000"]
    limited = subprocess.run(
        ["sh", "-c", 'ulimit -v 100000; exec "$@"', "sh", *command],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert limited.returncode == 1 and "returned NULL" in limited.stderr


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_each_source_is_short_and_says_what_it_asks_and_after_whom(path):
    lines = path.read_text().splitlines()
    letter = [line for line in lines[:12] if line.startswith("//")]
    assert len(lines) <= 150
    assert letter[0].startswith(f"// {path.stem}: ") and letter[0].endswith("?")
    assert re.match(r"// (After|The mixed workload)", letter[2]) and "operation is" in " ".join(letter)


def test_every_source_has_a_row_and_every_row_an_answer_to_whom_it_follows():
    stems = {path.stem for path in SOURCES}
    used = {row.name for row in rows()} | {"burst", "sharing"}
    assert stems <= used
    assert all(row.question and row.after and row.iterations > 0 for row in suite.ROWS)
    names = workloads.every_name()
    assert len(names) == len(set(names))


def test_names_and_groups_choose():
    assert [row.name for row in suite.choose(["tree", "mixed_400"], None)] == ["mixed_400", "tree"]
    assert {row.group for row in suite.choose(None, ["bursts"])} == {"bursts"}
    assert {row.name for row in suite.choose(None, ["growth"])} == {"leak", "phases"}
    assert [row.name for row in suite.choose(["tree", "leak"], ["growth"])] == ["leak"], "only these of only those"
    assert suite.choose(None, None) == list(suite.ROWS)


@pytest.mark.parametrize(("how", "said"), [({"names": ["nope"]}, "nope"), ({"group": "nope"}, "nope"), ({"budget": "x"}, "'x'")])
def test_what_does_not_exist_is_asked_wrongly(how, said):
    with pytest.raises(AskedWrongly, match=said):
        suite.suite(**how)


def test_a_longer_budget_is_more_work_and_memory_does_not_grow_for_ever():
    by_name = {row.name: row for row in suite.ROWS}
    short = suite.workload_of(by_name["tree"], "tree", suite.SCALES["short"])
    full = suite.workload_of(by_name["tree"], "tree", suite.SCALES["full"])
    assert int(full.command[1]) == suite.SCALES["full"] * int(short.command[1]) and full.seconds > short.seconds
    leak = suite.workload_of(by_name["leak"], "leak", suite.SCALES["full"])
    assert int(leak.command[1]) == by_name["leak"].most * by_name["leak"].iterations


def test_rows_of_the_mixed_driver_name_modes_that_it_has():
    table = (programs.ROOT / "bench/workloads.def").read_text()
    modes = set(re.findall(r"^WORKLOAD\((\w+),", table, re.M))
    assert {row.mode for row in suite.ROWS if row.mode} <= modes


def test_a_program_that_was_not_built_is_reported(monkeypatch, tmp_path):
    monkeypatch.setattr(programs, "ready", lambda: tmp_path)
    skipped = []
    assert suite.suite(["strings"], skipped=skipped) == []
    assert [(each.name, each.package) for each in skipped] == [("strings", "g++")]


def test_drivers_are_stale_when_a_source_is_newer(monkeypatch, tmp_path):
    (tmp_path / "bench").mkdir()
    source = tmp_path / "bench/main.c"
    output = tmp_path / "build/bench"
    output.mkdir(parents=True)
    monkeypatch.setattr(programs, "ROOT", tmp_path)
    monkeypatch.setattr(programs, "OUTPUT", output)
    monkeypatch.setattr(programs, "STAMP", output / ".suite")
    for path, when in ((source, 100), (output / programs.MIXED, 200), (output / ".suite", 200)):
        Path(path).touch()
        os.utime(path, (when, when))
    os.utime(source.parent, (100, 100))
    assert programs._is_fresh()
    os.utime(source, (300, 300))
    assert not programs._is_fresh()
    os.utime(source, (100, 100))
    os.utime(source.parent, (300, 300))  # what deleting another one does
    assert not programs._is_fresh()
