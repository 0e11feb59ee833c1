"""`hakmem top`, on snapshots made up here; tests/explain/check.py looks at a real process."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from lab import cli
from lab.commands import top
from lab.errors import LabError
from lab.explain import problems, process, report, watch
from lab.explain.account import LIVE, ClassSum
from lab.explain.snapshot import Snapshot

MIB = 1 << 20


def snapshot(live: float, rss: int, blocks: dict[int, int]) -> Snapshot:
    classes = [ClassSum(size, slabs=1, count=[0, 0, 0, 0]) for size in blocks]
    for one in classes:
        one.count[LIVE] = blocks[one.size]
    sums = Counter({"live_small": int(live)})
    return Snapshot(7, "the program", "standard", "0.1.0", "running", True, rss, 0, sums, Counter(), classes, 1, 0)


def look(at_s: float, cpu_s: float, faults: int, found: Snapshot) -> watch.Look:
    return watch.Look(at_s, 0.01, 90 + at_s, cpu_s, faults, 3, found)


FIRST = look(10.0, 1.0, 500, snapshot(4 * MIB, 8 * MIB, {64: 100, 1024: 3000, 256: 50}))
SECOND = look(12.0, 2.0, 700, snapshot(6 * MIB, 9 * MIB, {64: 90000, 1024: 2900, 256: 50}))


def test_the_first_look_has_no_changes() -> None:
    page = "\n".join(watch.lines([FIRST], 10, "live"))
    assert "process 7 (the program), hakmem 0.1.0 standard" in page and "3 threads" in page
    assert "of a CPU" not in page and "+" not in page and "Rss  █  8.0 to 8.0 MiB" in page


def test_an_estimate_says_what_it_is_without() -> None:
    found = snapshot(MIB, 2 * MIB, {})
    found.exact = False
    note = "estimated: without /proc/PID/pagemap each mapping's Rss is spread over what was used of it"
    assert note in report.lines(found)


def test_a_command_line_is_one_line_that_a_terminal_does_not_obey() -> None:
    found = snapshot(MIB, 2 * MIB, {})
    found.command = "perl -e \x1b[31mred\nnext\x07 \u202eright"
    seen = r"process 7 (perl -e \x1b[31mred next\x07 \u202eright), hakmem 0.1.0 standard"
    assert watch.lines([look(10.0, 1.0, 500, found)], 1, "live")[0] == seen
    assert report.lines(found)[0].startswith(seen + ";")
    assert json.loads(json.dumps(report.as_json(found)))["command"] == found.command, "for machines as it is"


def test_what_changed_stands_beside_what_is() -> None:
    page = watch.lines([FIRST, SECOND], 10, "live")
    assert "50 % of a CPU, 100 page faults a second" in page[1]
    (live,) = [line for line in page if line.startswith("live blocks")]
    assert live.split()[2:] == ["6.0", "66.7", "+2.0"]
    (rss,) = [line for line in page if line.startswith("the kernel's Rss")]
    assert rss.split()[-1] == "+1.0"
    assert "live ▆█  4.0 to 6.0 MiB" in page or "live ▅█  4.0 to 6.0 MiB" in page


@pytest.mark.parametrize(("order", "first"), [("live", "64"), ("change", "64"), ("waste", "64")])
def test_classes_come_in_the_order_that_was_asked_for(order: str, first: str) -> None:
    page = watch.lines([FIRST, SECOND], 1, order)
    assert page[-2].startswith("class") and page[-1].split()[0] == first
    assert page[-1].split()[1:3] == ["90,000", "+89,900"]


def with_aligned(usual: int, aligned: int) -> Snapshot:
    """Two classes have blocks of 512 bytes: one that malloc takes from, and one for an alignment."""
    found = snapshot(4 * MIB, 8 * MIB, {240: 0, 512: usual, 32832: 0, 256: 0})
    found.classes[-1].aligned = True
    found.classes.append(ClassSum(512, slabs=1, count=[0, 0, 0, 0], aligned=True))
    found.classes[-1].count[LIVE] = aligned
    return found


def test_classes_of_the_same_size_are_told_apart() -> None:
    page = watch.lines([look(10.0, 1.0, 500, with_aligned(2000, 30)), look(12.0, 1.0, 500, with_aligned(2000, 70))], 5, "live")
    usual, aligned = (line for line in page if line.startswith("512"))
    assert usual.split()[:3] == ["512", "2,000", "+0"] and aligned.split()[:4] == ["512", "aligned", "70", "+40"]
    rows = {(row["size"], row["aligned"]): row["live"] for row in report.as_json(with_aligned(2000, 30))["classes"]}
    assert rows[512, False] == 2000 and rows[512, True] == 30


def test_rounding_up_is_that_from_the_class_below() -> None:
    assert report.rounding_at_most(with_aligned(3, 0).classes) == 3 * (512 - 240 - 1)
    found = with_aligned(0, 0)
    found.classes[-2].count[LIVE], found.classes[-1].count[LIVE] = 5, 7
    assert report.rounding_at_most(found.classes) == 5 * (256 - 240 - 1) + 7 * (512 - 240 - 1)


def test_no_more_classes_than_asked_for() -> None:
    with_all, with_none = watch.lines([SECOND], 10, "live"), watch.lines([SECOND], 0, "live")
    assert len(with_all) == len(with_none) + 4 and not any("class" in line for line in with_none)
    assert [line.split()[0] for line in with_all[-3:]] == ["64", "1024", "256"]


def test_a_curve_is_as_high_as_its_values() -> None:
    assert watch.curve([0, 4, 8]) == "▁▅█" and watch.curve([]) == "" and watch.curve([0, 0]) == "▁▁"


def test_json_of_a_look() -> None:
    alone, second = watch.as_json(FIRST, None), watch.as_json(SECOND, FIRST)
    assert alone["cpu_percent"] is None and alone["rss_bytes"] == 8 * MIB
    assert second["cpu_percent"] == 50.0 and second["faults_per_s"] == 100.0 and second["process_threads"] == 3
    json.dumps([alone, second], allow_nan=False)


def test_a_process_is_looked_at() -> None:
    found = watch.look(os.getpid(), lambda pid: snapshot(MIB, 2 * MIB, {}))
    assert found.age_s > 0 and found.faults > 0 and found.threads >= 1 and found.cpu_s >= 0


@pytest.fixture(name="looks")
def _looks(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What the next looks find: a Look, or an error. Nobody sleeps."""
    found: list[object] = []

    def next_one(*_: object) -> watch.Look:
        one = found.pop(0)
        if isinstance(one, BaseException):
            raise one
        assert isinstance(one, watch.Look)
        return one

    monkeypatch.setattr(watch, "look", next_one)
    monkeypatch.setattr(top.time, "sleep", lambda seconds: None)
    return found


def test_it_goes_on_until_the_process_ends(looks: list[object], capsys: pytest.CaptureFixture[str]) -> None:
    looks += [FIRST, SECOND, problems.no_process(1 << 30)]
    assert cli.main(["top", "7"]) == 0
    said = capsys.readouterr()
    assert said.out.count("process 7 (the program)") == 2 and said.err == "hakmem: process 7 has ended\n"


@pytest.mark.parametrize("count", ["0", "3", "100"])
def test_a_process_that_becomes_another_has_not_ended(
    looks: list[object], count: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    looks += [FIRST, SECOND, problems.not_on_hakmem(7)]
    monkeypatch.setattr(top, "has_ended", lambda pid: False)
    assert cli.main(["top", "7", "-n", count]) == 1
    said = capsys.readouterr()
    assert said.out.count("process 7 (the program)") == 2 and "process 7 is not on hakmem" in said.err
    looks += [FIRST, problems.not_on_hakmem(7)]
    monkeypatch.setattr(top, "has_ended", lambda pid: True)
    assert cli.main(["top", "7", "-n", count]) == 0 and "has ended" in capsys.readouterr().err


def test_a_process_ends() -> None:
    with subprocess.Popen(["true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert process.has_ended(child.pid), "its parent has not noticed yet"
    assert process.has_ended(child.pid) and not process.has_ended(os.getpid())


def test_the_page_is_there_where_the_file_is_not(looks: list[object], capsys: pytest.CaptureFixture[str]) -> None:
    looks += [FIRST, SECOND]
    assert cli.main(["top", "7", "--json", "/dev/full"]) == 1
    said = capsys.readouterr()
    assert "process 7 (the program)" in said.out and "cannot write /dev/full" in said.err


def test_ctrl_c_is_how_one_leaves(looks: list[object], capsys: pytest.CaptureFixture[str]) -> None:
    looks += [FIRST, KeyboardInterrupt()]
    assert cli.main(["top", "7"]) == 0 and not capsys.readouterr().err


def test_as_many_looks_as_asked_for_and_a_line_for_each(
    looks: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    looks += [FIRST, SECOND, LabError("one look too many")]
    assert cli.main(["top", "7", "--count", "2", "--json", str(tmp_path / "looks")]) == 0
    assert not capsys.readouterr().err
    rows = [json.loads(line) for line in (tmp_path / "looks").read_text().splitlines()]
    assert [row["rss_bytes"] for row in rows] == [8 * MIB, 9 * MIB]


def test_json_on_standard_output_is_alone(looks: list[object], capsys: pytest.CaptureFixture[str]) -> None:
    looks += [FIRST, SECOND]
    assert cli.main(["top", "7", "-n", "2", "--json", "-"]) == 0
    assert len([json.loads(line) for line in capsys.readouterr().out.splitlines()]) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["one"], "'one' is not a process id"),
        (["7", "--interval", "10ms"], "--interval 10ms is too short"),
        (["7", "--interval", "soon"], "--interval is a duration"),
        (["7", "--interval", "0"], "--interval must be above 0, not '0'"),
        (["1", "2"], "one process id is wanted, not '1 2'"),
        (["7", "--sort", "size"], "use one of live, change, waste"),
        (["7", "--json", "/nowhere/looks"], "cannot write /nowhere/looks"),
        ([str(1 << 30)], f"there is no process {1 << 30}"),
    ],
)
def test_what_does_not_fit_is_said(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["top", *words]) != 0
    assert said in capsys.readouterr().err
