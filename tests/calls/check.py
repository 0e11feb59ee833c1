"""Runs caller in every way it can be linked, and compares what `hakmem calls` says of it with what it has called.

Counts are exact, and so is the order of the last calls. How long a call took decides nothing. What libc calls itself for its
threads is found out by a run without any rounds; hakmem's own thread, for which libc would call now or then, stays away.
"""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lab.tests.outside import LAB, LIBRARY, PROGRAMS, check_refusals, directory, environment, refused, run_all

CAN = os.environ["TESTED_VARIANT"] in ("observe", "check")
TIMED, KEPT = {"HAKMEM_LATENCY": "1"}, {"HAKMEM_TRACE": "65536"}
BOTH = TIMED | KEPT
ROUND = {"malloc": 7, "free": 7, "large malloc": 3, "large free": 3, "resize": 1}  # what caller does in one
LAST = [  # its last calls: kind, bytes (those of the size class when freed), function
    *(("malloc", bytes_, "take_last") for bytes_ in (1000, 1001, 1002)),
    *(("free", 1024, "give_last") for _ in range(3)),
]
QUIET = {"HAKMEM_PURGE_THREAD": "0"}


@contextlib.contextmanager
def caller(mode: str, rounds: int, threads: int, program: str = "calls_caller", **options: str) -> Iterator[Any]:
    """A caller that has said everything: its process id and what it said."""
    words = [str(PROGRAMS / program), mode, str(rounds), str(threads)]
    made = environment(program == "calls_caller", **(QUIET | options))
    process = subprocess.Popen(words, env=made, stdout=subprocess.PIPE, text=True)
    said: dict[str, list[int]] = {}
    ready = {"ready"} if mode != "fork" else {"ready", "child"}
    seen = 0
    try:
        assert process.stdout
        for line in process.stdout:
            name, number = line.split()
            said.setdefault(name, []).append(int(number))
            seen += name in ready
            if seen == (3 if mode == "fork" else 1):
                break
        assert "ready" in said, "caller ended early"
        yield process.pid, said
    finally:
        if "child" in said:
            os.kill(said["child"][0], signal.SIGKILL)
        process.kill()
        process.wait()


def looked_at(pid: int) -> dict[str, Any]:
    """What the tool finds."""
    done = subprocess.run([*LAB, "calls", str(pid), "--json", "-"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def traced(pid: int) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """The same, and the lines of the CSV."""
    with directory() as place:
        done = subprocess.run(
            [*LAB, "calls", str(pid), "--json", "-", "--trace", str(place / "file")], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), read_csv(place / "file")


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def counts(found: dict[str, Any]) -> dict[str, int]:
    return {kind: found["kinds"][kind]["calls"] for kind in ROUND}


def check_known(found: dict[str, Any], idle: dict[str, Any], rounds: int) -> None:
    """Exactly so many rounds more than the other, which went through none."""
    more = {kind: count - counts(idle)[kind] for kind, count in counts(found).items()}
    assert more == {kind: count * rounds for kind, count in ROUND.items()}, (more, counts(found))
    assert found["timed"] and found["torn_records"] == 0 and found["ns_per_tick"] > 0
    assert found["kinds"]["all"]["calls"] == sum(counts(found).values()) == sum(one["calls"] for one in found["threads"])
    for one in found["kinds"].values():
        assert one["ns"] == sorted(one["ns"]) and one["ns"][-1] > 0 and one["total_ns"] > 0


def check_last(rows: list[dict[str, str]], blocks: list[int]) -> None:
    """The last events are the last calls, in their order."""
    last = [row for row in rows if row["thread"] == "0"][-len(LAST) :]
    assert [(row["kind"], int(row["bytes"]), row["function"]) for row in last] == LAST, last
    assert [int(row["address"], 16) for row in last] == [*blocks, *reversed(blocks)], last
    times = [int(row["time_ns"]) for row in rows]
    assert times == sorted(times) and times[0] >= 0


def test_every_call_is_counted() -> None:
    with caller("sleep", 0, 3, **TIMED) as (pid, _):
        idle = looked_at(pid)
    with caller("sleep", 500, 3, **TIMED) as (pid, _):
        found = looked_at(pid)
    check_known(found, idle, 500 * 4)
    assert found["pid"] == pid and found["state"] == "running" and found["variant"] == os.environ["TESTED_VARIANT"]
    assert found["trace"] is None and len(found["threads"]) >= 2
    assert found["command"].endswith("calls_caller sleep 500 3")


def test_linked_statically() -> None:
    with caller("sleep", 0, 1, "calls_static", **BOTH) as (pid, _):
        idle = looked_at(pid)
    with caller("sleep", 50, 1, "calls_static", **BOTH) as (pid, said):
        found, rows = traced(pid)
    check_known(found, idle, 100)
    check_last(rows, said["block"])


def test_all_events_are_there() -> None:
    """Every call is an event, and each of them has its function."""
    with caller("sleep", 100, 2, **BOTH) as (pid, said):
        found, rows = traced(pid)
    assert found["trace"]["overwritten"] == found["trace"]["torn"] == found["trace"]["whole_from_ns"] == 0
    assert found["large_from_bytes"] == 32769, "asked for; the blocks of the largest class are a line longer"
    assert Counter(row["kind"] for row in rows) == Counter({kind: n for kind, n in counts(found).items() if n})
    check_last(rows, said["block"])
    functions = Counter((row["function"], row["kind"]) for row in rows)
    rounds = 100 * 3
    assert functions["take_small", "malloc"] == rounds + 2 and functions["take_large", "large malloc"] == rounds
    assert functions["give", "free"] == 5 * rounds + 2 and functions["give", "large free"] == 3 * rounds
    assert functions["resize", "malloc"] == functions["resize", "large malloc"] == rounds, functions
    assert functions["resize", "resize"] == rounds and functions["resize", "free"] == 2 * rounds, functions
    assert not any(name.startswith("[hakmem") for name, _ in functions), functions
    for name in ("take_zeroed", "take_aligned", "take_posix", "take_new", "take_new_aligned"):
        assert functions[name, "malloc"] == rounds, (name, functions)
    assert functions["take_posix", "large malloc"] == rounds, functions
    callers = {one["name"]: one for one in found["trace"]["callers"]}
    taken = callers["take_large"]
    assert (taken["events"], taken["blocks"], taken["bytes"]) == (rounds, rounds, 200000 * rounds), taken


def test_addresses_come_and_go() -> None:
    """What is freed was allocated, and not allocated again before. In the order of their beginnings: so of one thread."""
    with caller("sleep", 100, 0, **BOTH) as (pid, _):
        _, rows = traced(pid)
    blocks: set[str] = set()
    for row in rows:
        if row["kind"].endswith("malloc"):
            assert row["address"] not in blocks, row
            blocks.add(row["address"])
        elif row["kind"].endswith("free"):
            blocks.remove(row["address"])
    assert len(rows) > 1300


def test_a_ring_keeps_the_last_events() -> None:
    with caller("sleep", 100, 2, HAKMEM_TRACE="50", HAKMEM_LATENCY="1") as (pid, said):
        found, rows = traced(pid)
    check_last(rows, said["block"])
    kept = Counter(row["thread"] for row in rows)
    assert set(kept.values()) == {49}, "of a process that runs the oldest may be being overwritten"
    assert found["trace"]["events"] + found["trace"]["overwritten"] == sum(counts(found).values())
    assert found["trace"]["whole_from_ns"] > 0


def test_events_without_times() -> None:
    with caller("sleep", 10, 1, **KEPT) as (pid, said):
        found, rows = traced(pid)
        assert not found["timed"] and not found["kinds"] and found["share_of_cpu"] is None
        check_last(rows, said["block"])
        refused(1, "are not timed", "calls", pid, "--plot", "picture.svg")
    with caller("sleep", 10, 1, **TIMED) as (pid, _):
        refused(1, "keeps no events", "calls", pid, "--trace", "events.csv")


def test_a_child_has_what_it_inherited_and_its_own() -> None:
    with caller("fork", 20, 1, **TIMED) as (pid, said):
        parent, child = looked_at(pid), looked_at(said["child"][0])
    more = {kind: count - counts(parent)[kind] for kind, count in counts(child).items()}
    assert more == {kind: 10 * count for kind, count in ROUND.items()}, more


def test_a_process_that_changes_is_read_all_the_same() -> None:
    with caller("change", 1000, 2, HAKMEM_TRACE="1000", HAKMEM_LATENCY="1") as (pid, _):
        before: dict[str, int] = dict.fromkeys(ROUND, 0)
        for _ in range(5):
            found, rows = traced(pid)
            now = counts(found)
            assert all(now[kind] >= before[kind] for kind in ROUND), "counts only grow"
            before = now
            assert found["trace"]["torn"] == 0 and found["torn_records"] == 0
            times = [int(row["time_ns"]) for row in rows]
            assert times == sorted(times)
            for _, events in itertools.groupby(sorted(rows, key=lambda row: row["thread"]), key=lambda row: row["thread"]):
                names = [row["function"] for row in events if row["kind"] == "large malloc"]
                assert all(a != b for a, b in itertools.pairwise(names)), "one from take_large, one from resize, in turn"


def test_the_page_and_the_files() -> None:
    with caller("sleep", 100, 2, **BOTH) as (pid, _), directory() as place:
        command = [*LAB, "calls", str(pid), "--plot", "curves.svg", "--trace", "events.csv", "--histogram", "calls.hlog"]
        done = subprocess.run([*command, "--top", "2"], capture_output=True, text=True, cwd=place)
        assert done.returncode == 0 and not done.stderr, done.stderr
        for words in ("p99.99", "large malloc", "inside the allocator", "1/32", "give", "picture: curves.svg"):
            assert words in done.stdout, done.stdout
        assert "<svg" in (place / "curves.svg").read_text() and "Tag=large_free," in (place / "calls.hlog").read_text()
        assert len(read_csv(place / "events.csv")) > 300


def run(*words: object, **options: str) -> subprocess.CompletedProcess[str]:
    command = [*LAB, "calls", "--run", LIBRARY, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=environment(False, **(QUIET | options)))


def test_held_at_its_exit() -> None:
    with directory() as place:
        program = [PROGRAMS / "calls_caller", "exit", 100, 1]
        done = run("--trace", place / "events", "--", *program, HAKMEM_TRACE="40", HAKMEM_LATENCY="1")
        assert done.returncode == 3 and "held at its exit" in done.stderr and "p99.99" in done.stderr, done.stderr
        blocks = [int(line.split()[1]) for line in done.stdout.splitlines()]
        assert len(blocks) == 3 and "take_last" in done.stderr
        rows = read_csv(place / "events")
        check_last(rows, blocks)
        assert set(Counter(row["thread"] for row in rows).values()) == {40}, "nothing is being overwritten"


def test_all_reports_in_one_hold() -> None:
    with directory() as place:
        program = [PROGRAMS / "calls_caller", "abort", 10, 1]
        words = ("--explain", "--heap", place / "profile", "--", *program)
        done = run(*words, HAKMEM_LATENCY="1", HAKMEM_HEAP_SAMPLE="1")
        assert done.returncode == -signal.SIGUSR1, done.stderr
        order = [done.stderr.index(words) for words in ("the kernel's Rss", "every allocation", "inside the allocator")]
        assert order == sorted(order) and (place / "profile").exists()


def test_anywhere_what_cannot_be_read() -> None:
    check_refusals("calls")
    process = subprocess.Popen(["true"])
    process.wait()
    refused(1, "cannot write /nowhere/file", "calls", process.pid, "--histogram", "/nowhere/file")


def test_anywhere_what_was_not_noted_down() -> None:
    words = "was not asked to note down calls" if CAN else "cannot note down calls"
    options = {} if CAN else BOTH
    with caller("sleep", 1, 1, **options) as (pid, _):
        refused(1, words, "calls", pid)
        refused(1, "hakmem run --calls -- CMD", "calls", pid)
    done = run("--", PROGRAMS / "calls_caller", "exit", 1, 0, **options)
    assert done.returncode == 3 and words in done.stderr, "it says so, and ends as the program did"


if __name__ == "__main__":
    sys.exit(run_all(globals(), "test_" if CAN else "test_anywhere_"))
