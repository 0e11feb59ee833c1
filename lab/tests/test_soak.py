"""Soaks: taking turns on a simulated clock, long processes that behave and that do not, the command end to end."""

import contextlib
import errno
import json
import os
import re
import time

import pytest

from lab import cli, csvs, files, lineup, results, streams
from lab.errors import CrashError, LabError
from lab.model import Allocator
from lab.soak import sources, table
from lab.soak.files import file_name
from lab.soak.outcome import Soak
from lab.soak.rounds import rounds
from lab.tests.compiled import bench_dir  # noqa: F401: a fixture

GLIBC = Allocator("glibc", None, "?", "?", "glibc")


class Simulated:
    """Epochs of a machine whose clock only counts: each costs a second."""

    def __init__(self, machine, speed, crash_at=None):
        self.machine, self.speed, self.crash_at = machine, speed, crash_at
        self.taken, self.ended = 0, False

    def next(self):
        assert not self.ended
        if self.taken == self.crash_at:
            raise CrashError("it died")
        self.machine["now"] += 1
        self.taken += 1
        return csvs.Epoch(self.taken - 1, 100, self.speed, 2.0)

    def end(self):
        self.ended = True


def simulated(duration, **crash_at):
    machine = {"now": 0}
    each = {name: Simulated(machine, 100, crash_at.get(name)) for name in ("a", "b", "c")}
    with contextlib.closing(rounds(each, duration, seed=3, clock=lambda: machine["now"])) as taken:
        rows = list(taken)
    return each, rows


def test_a_round_is_one_epoch_of_each_in_changing_order():
    each, rows = simulated(duration=30)
    names = [name for name, _ in rows]
    taken = [tuple(names[i : i + 3]) for i in range(0, len(names), 3)]
    assert len(taken) == 10
    assert all(sorted(one) == ["a", "b", "c"] for one in taken)
    assert len(set(taken)) > 1
    assert all(source.ended for source in each.values())


def test_it_ends_after_the_round_in_which_the_time_is_over():
    assert len(simulated(duration=0.001)[1]) == 3
    assert len(simulated(duration=4)[1]) == 6


def test_the_last_row_is_of_an_epoch_that_ended_after_the_time():
    machine = {"now": 0}
    ends = []
    for _ in rounds({"a": Simulated(machine, 1)}, 3, clock=lambda: machine["now"]):
        ends.append(machine["now"])
        machine["now"] += 2  # until the line is written
    assert ends[-1] >= 3 and len(ends) == 2


def test_it_ends_after_so_many_rounds():
    machine = {"now": 0}
    each = {"a": Simulated(machine, 1), "b": Simulated(machine, 1)}
    assert len(list(rounds(each, float("inf"), clock=lambda: machine["now"], most=7))) == 14


def test_one_that_crashes_leaves_and_the_others_go_on():
    each, rows = simulated(duration=20, b=2)
    crashes = [(name, row) for name, row in rows if isinstance(row, CrashError)]
    assert [name for name, _ in crashes] == ["b"]
    assert (each["b"].taken, each["b"].ended) == (2, True)
    assert each["a"].taken == each["c"].taken > 5


def test_it_ends_when_nobody_is_left():
    _, rows = simulated(duration=1000, a=0, b=0, c=1)
    assert sum(isinstance(row, CrashError) for _, row in rows) == 3


def test_leaving_early_ends_the_processes():
    machine = {"now": 0}
    each = {"a": Simulated(machine, 1), "b": Simulated(machine, 1)}
    with contextlib.closing(rounds(each, 1000, clock=lambda: machine["now"])) as taken:
        next(taken)
    assert all(source.ended for source in each.values())


def long_run(driver, length=1000, timeout_s=240.0):
    return sources.LongRun(sources.mixed(str(driver), length, 50, 1), GLIBC, None, timeout_s)


def script(tmp_path, text):
    path = tmp_path / "driver"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_a_long_process_runs_one_epoch_when_it_is_asked(bench_dir):  # noqa: F811
    source = long_run(bench_dir / "bench_random_mixed_system")
    try:
        rows = [source.next() for _ in range(3)]
        assert [(row.epoch, row.iter) for row in rows] == [(0, 1000), (1, 1000), (2, 1000)]
        assert all(row.throughput_ops_s > 0 and row.rss_mb > 0.2 for row in rows)
        pid = source._process.pid
        # It waits: nothing more is printed, and nothing is used, until it is asked again.
        stat = f"/proc/{pid}/stat"
        deadline = time.monotonic() + 200
        while open(stat).read().rpartition(")")[2].split()[0] != "S" and time.monotonic() < deadline:
            time.sleep(0.01)
        assert open(stat).read().rpartition(")")[2].split()[0] == "S"
        assert source._buffer == b""
    finally:
        source.end()
    assert not os.path.exists(f"/proc/{pid}")
    source.end()


@pytest.mark.parametrize(
    "text, words",
    [
        ("echo last words >&2; exit 7", "ended with exit status 7; its last words: last words"),
        ("kill -KILL $$", "killed by signal 9"),
        ("echo nonsense; read line", "ended with exit status"),
    ],
)
def test_a_long_process_that_ends_is_a_crash(tmp_path, text, words):
    source = long_run(script(tmp_path, text))
    try:
        with pytest.raises(CrashError, match=words):
            source.next()
    finally:
        source.end()


def test_a_long_process_that_is_late_is_a_crash(tmp_path):
    source = long_run(script(tmp_path, "exec sleep 1000"), timeout_s=0.05)
    with pytest.raises(CrashError, match="took longer"):
        source.next()
    source.end()


def test_a_driver_that_is_not_there(tmp_path):
    source = long_run(tmp_path / "nothing")
    with pytest.raises(CrashError, match="cannot be started"):
        source.next()
    source.end()


def test_the_table_says_drift_against_the_others_and_who_crashed():
    others = [Allocator(name, None, "", "", name) for name in ("a", "b")]
    soak = Soak("single", others, 1000, 400, 1)
    for i in range(20):
        machine = 1 - 0.02 * i
        soak.add("a", csvs.Epoch(i, 1000, 50e6 * machine, 2 + i), 2.0 * i)
        soak.add("b", csvs.Epoch(i, 1000, 80e6 * machine, 3), 2.0 * i + 1)
    soak.add("c", CrashError("c died"), 40)
    lines = table.lines(soak)
    row = next(line.split() for line in lines if line.startswith("a "))
    assert row[1] == "20" and row[5].startswith("-3") and row[6] == "0.00%"
    assert row[9:] == ["2.00", "21.00", "21.00", "+950.00%"]
    assert lines[-1] == "CRASHED: c died"
    assert soak.as_json()["figures"]["b"]["rss_drift"] == 0


@pytest.mark.parametrize(
    ("epochs", "drifts", "said"),
    [
        (1, ["-", "-", "-"], "only 1 epoch: with 5 or fewer the first are the last, and no drift can be seen; 10 are wanted"),
        (5, ["-", "-", "+400.00%"], "only 5 epochs: with 5 or fewer the first are the last"),
        (6, ["+1.00%", "+1.00%", "+500.00%"], "only 6 epochs: the first and the last five overlap"),
    ],
)
def test_no_drift_is_said_where_the_first_epochs_are_the_last(epochs, drifts, said):
    soak = Soak("single", [Allocator(name, None, "", "", name) for name in ("a", "b")], 1000, 400, 1)
    for i in range(epochs):
        soak.add("a", csvs.Epoch(i, 1000, 100e6 + 5e6 * (i == 5), 1 + i), 2.0 * i)
        soak.add("b", csvs.Epoch(i, 1000, 100e6, 3), 2.0 * i + 1)
    lines = table.lines(soak)
    row = next(line.split() for line in lines if line.startswith("a "))
    assert [row[5], row[6], row[12]] == drifts and any(line.startswith(said) for line in lines)


def test_a_soak_without_an_epoch_has_words_too():
    assert "no epoch was finished" in table.lines(Soak("steps", [GLIBC], 1, 1, 1))


def test_file_names():
    assert file_name("mimalloc3") == "mimalloc3"
    assert "/" not in file_name("a/b c")


@pytest.fixture
def command(bench_dir, monkeypatch):  # noqa: F811
    """Runs `hakmem soak` on glibc with these drivers."""
    monkeypatch.setenv("BENCH_DIR", str(bench_dir))
    return lambda *words: cli.main(["soak", "--allocator", "glibc", "--ws", "50", *map(str, words)])


@pytest.mark.parametrize("model, kind", [("single", csvs.Epoch), ("steps", csvs.Step)])
def test_the_command_end_to_end(command, tmp_path, capsys, model, kind):
    out = tmp_path / "soak"
    assert command("--duration", "50ms", "--epoch-iters", 2000, "--model", model, "--out", out) == 0
    words = capsys.readouterr().out
    assert re.search(r"^glibc +\d+ ", words, re.M), words
    lines = (out / "glibc.csv").read_text().splitlines()
    assert lines[0] == ",".join(kind.COLUMNS)
    assert len(csvs.read(out / "glibc.csv").rss_mb) == len(lines) - 1 > 0
    record = json.loads((out / "soak.json").read_text())
    assert (record["model"], record["iterations"], record["interrupted"]) == (model, 2000, False)
    assert len(record["rows"]["glibc"]) == len(lines) - 1
    assert "glibc owns malloc" in record["proofs"][0]
    assert record["kind"] == "soak" and {"commit", "options"} <= set(record) and record["machine"]["date"]
    for name in ("throughput", "rss"):
        assert (out / f"{name}.svg").read_text().count("<svg") == 1
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_there_is_not_written_over(command, tmp_path, capsys):
    assert command("--duration", "20ms", "--epoch", "2ms", "--out", tmp_path / "o") == 0
    before = (tmp_path / "o/glibc.csv").read_text()
    assert command("--duration", "20ms", "--epoch", "2ms", "--out", tmp_path / "o") == 1
    assert f"{tmp_path}/o/glibc.csv is there already" in capsys.readouterr().err
    assert (tmp_path / "o/glibc.csv").read_text() == before


def test_two_of_the_same_second_have_directories_of_their_own(tmp_path):
    assert [files.fresh(tmp_path / "soak").name for _ in range(3)] == ["soak", "soak-2", "soak-3"]


def test_epochs_by_time_and_json_on_standard_output(command, tmp_path, capsys):
    assert command("--duration", "20ms", "--epoch", "2ms", "--out", tmp_path / "o", "--json", "-") == 0
    record = json.loads(capsys.readouterr().out)
    assert record["iterations"] > 0 and record["figures"]["glibc"]["epochs"] > 0


def test_a_round_fits_in_the_duration(command, tmp_path, capsys):
    assert command("--duration", "20ms", "--out", tmp_path / "o", "--json", "-") == 0
    said = capsys.readouterr()
    assert said.err.startswith("hakmem: epochs of 0.02 s, not --epoch 10s: one of each is to fit in --duration 20ms\n")
    assert json.loads(said.out)["iterations"] < 20_000_000


def test_a_long_epoch_is_said_as_a_person_says_it(command, tmp_path, capsys, monkeypatch):
    def stop(*_: object) -> None:
        raise LabError("stopped")

    monkeypatch.setattr(lineup, "proven", stop)
    assert command("--duration", "1h", "--epoch", "2h", "--out", tmp_path / "o") == 1
    assert "epochs of 1 h, not --epoch 2h" in capsys.readouterr().err


def test_files_that_cannot_be_written_cost_nothing_but_themselves(command, tmp_path, capsys):
    (tmp_path / "o/throughput.svg").mkdir(parents=True)
    assert command("--duration", "20ms", "--epoch", "2ms", "--out", tmp_path / "o") == 1
    said = capsys.readouterr()
    assert re.search(r"^glibc +\d+ ", said.out, re.M) and "written to" not in said.out
    assert "throughput.svg: Is a directory" in said.err and (tmp_path / "o/soak.json").stat().st_size > 0


def test_a_disk_that_fills_up_costs_lines_but_not_the_soak(command, tmp_path, capsys, monkeypatch):
    lines, epochs, line, epoch = [], [], csvs.Writer._line, sources.LongRun.next

    def full(self, cells):
        lines.append(cells)
        if len(lines) > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        line(self, cells)

    def interrupted(self):
        if len(epochs) == 3:
            raise KeyboardInterrupt
        epochs.append(epoch(self))
        return epochs[-1]

    monkeypatch.setattr(csvs.Writer, "_line", full)
    monkeypatch.setattr(sources.LongRun, "next", interrupted)
    assert command("--duration", "1h", "--epoch-iters", 1000, "--out", tmp_path / "o") == 1
    said = capsys.readouterr()
    assert f"cannot write {tmp_path}/o/glibc.csv: No space left on device" in said.err and "--out" in said.err
    assert re.search(r"^glibc +3 ", said.out, re.M), "the soak went on"
    assert len(json.loads((tmp_path / "o/soak.json").read_text())["rows"]["glibc"]) == 3


def test_ctrl_c_keeps_what_was_measured(command, tmp_path, capsys, monkeypatch):
    epochs, real = [], sources.LongRun.next

    def interrupted(self):
        if len(epochs) == 3:
            raise KeyboardInterrupt
        epochs.append(real(self))
        return epochs[-1]

    monkeypatch.setattr(sources.LongRun, "next", interrupted)
    assert command("--duration", "1h", "--epoch-iters", 1000, "--out", tmp_path / "o") == 130
    assert len(csvs.read(tmp_path / "o/glibc.csv").rss_mb) == 3
    assert json.loads((tmp_path / "o/soak.json").read_text())["interrupted"] is True
    assert "interrupted" in capsys.readouterr().out


def test_a_reader_that_goes_away_does_not_cost_the_files(command, tmp_path, monkeypatch):
    def give(*_):
        raise streams.NoReader

    monkeypatch.setattr(results, "give", give)
    monkeypatch.setattr(streams, "give_up_output", lambda: None)
    assert command("--duration", "0.1s", "--epoch-iters", 1000, "--out", tmp_path / "o") == 141
    assert (tmp_path / "o/soak.json").exists() and (tmp_path / "o/rss.svg").exists()


@pytest.mark.parametrize(
    "words, said",
    [
        (["--model", "many"], "no model 'many'"),
        (["--duration", "soon"], "--duration is a duration"),
        (["--epoch", "0s"], "--epoch must be above 0, not '0s'"),
        (["--allocator", "glibc"], "same name"),
        (["--allocator", "nothing"], "nothing"),
        (["--profile", "fastest"], "no profile 'fastest'"),
        (["--cpu", "99999"], "--cpu is"),
    ],
)
def test_what_is_asked_wrongly(command, capsys, words, said):
    assert command(*words) == 2
    assert said in capsys.readouterr().err
