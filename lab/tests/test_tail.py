"""Latency of single calls: the driver's text with a known truth, its buckets, what it leaves alone, the command."""

import json
import re
import subprocess

import numpy as np
import pytest

from lab import cli, tail, tail_table
from lab.errors import CrashError, LabError
from lab.model import Allocator
from lab.soak import sources
from lab.tests.compiled import BENCH, bench_dir, compiled  # noqa: F401: bench_dir is a fixture

GLIBC = Allocator("glibc", None, "?", "?", "glibc")


def text(malloc, free=((50, 50, 1),), clock=((20, 20, 100),), rate=2):
    """What the driver writes: `rate` ticks a nanosecond."""
    lines = [f"[CLOCK] name=rdtscp ticks={1000 * rate} ns=1000"]
    for name, buckets in (("malloc", malloc), ("free", free), ("clock", clock)):
        lines.append(f"[HISTOGRAM] {name} count={sum(b[2] for b in buckets)} max={max(b[1] for b in buckets)}")
        lines += [" ".join(map(str, bucket)) for bucket in buckets]
    return "\n".join(lines) + "\n"


def test_the_clocks_cost_is_taken_off_and_ticks_become_nanoseconds():
    recording = tail.parse(text([(40, 40, 98), (120, 120, 1), (20020, 20020, 1)]))
    assert (recording.clock, recording.ticks_per_ns, recording.cost_ticks) == ("rdtscp", 2, 20)
    found = tail.percentiles(recording.histogram("malloc"))
    assert found[:2] == [10, 10]
    assert found[2] == 50
    assert found[-1] == pytest.approx(10000, rel=0.001)


def test_one_call_has_all_percentiles():
    assert set(tail.percentiles(tail.parse(text([(40, 40, 1)])).histogram("malloc"))) == {10}


def test_the_cost_is_the_median_of_the_pairs():
    clock = [(18, 18, 10), (20, 20, 50), (22, 22, 30), (5000, 5000, 9)]
    assert tail.parse(text([(40, 40, 1)], clock=clock)).cost_ticks == 20


def test_what_is_shorter_than_the_clock_is_nothing():
    found = tail.percentiles(tail.parse(text([(10, 10, 5)])).histogram("malloc"))
    assert found == [0] * 6


def test_percentiles_of_merged_runs_are_those_of_all_calls():
    rng = np.random.default_rng(1)
    one = tail.Tail("x")
    everything = []
    for scale in (200, 400, 900):
        ticks = np.sort(rng.lognormal(np.log(scale), 0.8, 20000).astype(int)) + 20
        everything.append((ticks - 20) / 2)
        values, counts = np.unique(ticks, return_counts=True)
        one.add(tail.parse(text([(v, v, c) for v, c in zip(values, counts, strict=True)])))
    ordered = np.sort(np.concatenate(everything))
    expected = [ordered[round(percent / 100 * ordered.size) - 1] for percent in (*tail.PERCENTS, 100)]
    assert tail.percentiles(one.merged("malloc")) == pytest.approx(expected, rel=0.002)
    assert one.merged("malloc").get_total_count() == 60000


def test_the_curve_rises_to_the_last_call():
    ranks, values = tail.curve(tail.parse(text([(40, 40, 900), (400, 400, 99), (4000, 4000, 1)])).histogram("malloc"))
    assert values == sorted(values)
    assert ranks[0] == 1 and 500 < ranks[-1] <= 1000
    assert values[-1] < 1991 and max(values) >= 190


@pytest.mark.parametrize(
    "broken",
    ["", "nonsense\n", "[CLOCK] name=x ticks=0 ns=5\n", text([(1, 1, 5)]).replace("count=5", "count=6"),
     text([(1, 1, 5)]).partition("[HISTOGRAM] clock")[0]],
)
def test_a_text_that_is_not_whole(broken):
    with pytest.raises(LabError):
        tail.parse(broken)


def test_a_table_with_the_machines_own_tail_and_the_best_of_the_others():
    found = tail.Calls(400, 1000)
    for name, ticks in (("hakmem", 40), ("a", 60), ("b", 100)):
        found.tails[name] = tail.Tail(name)
        found.tails[name].add(tail.parse(text([(ticks, ticks, 10)])))
    lines = tail_table.calls(found)
    assert "the clock's 10 ns are taken off" in lines[0]
    malloc = lines[lines.index("") + 1 :]
    assert malloc[0].split() == ["malloc", "p50", "p90", "p99", "p99.9", "p99.99", "max"]
    assert malloc[1].split() == ["hakmem", *["10.0"] * 6]
    assert malloc[4].split()[:2] == ["clock", "0.0"]
    assert malloc[5].startswith("hakmem / best of the others: p50 0.50, p90 0.50")
    assert tail_table.calls(tail.Calls(400, 1)) == ["no run was finished"]


def test_the_table_of_epochs():
    lines = tail_table.epochs({"a": [100e6] * 9 + [50e6], "b": []})
    row = next(line.split() for line in lines if line.startswith("a "))
    assert row[:3] == ["a", "10", "100.00"] and row[6] == "10.00"
    assert tail_table.epochs({"b": []}) == []
    assert tail_table.epochs({"a": [1e6], "b": []}, ["a", "b", "c"])[-1] == "epochs not measured: b, c"
    assert tail_table.epochs({}, ["a"]) == ["", "epochs not measured: a"]


def test_one_that_crashes_leaves_and_ctrl_c_keeps_the_rest(tmp_path):
    runs = []

    def runner(workload, allocator, *, cpu):
        runs.append(allocator.name)
        if allocator.name == "bad":
            raise CrashError("bad died")
        if len(runs) == 6:
            raise KeyboardInterrupt
        with open(workload.command[4], "w") as file:
            file.write(text([(40, 40, 10)]))

    allocators = [GLIBC, Allocator("bad", None, "", "", ""), Allocator("other", None, "", "", "")]
    found = tail.measure("driver", allocators, runs=50, iterations=10, working_set=5, runner=runner)
    assert found.interrupted and found.crashed == {"bad": "bad died"}
    assert sum(len(one.runs) for one in found.tails.values()) == 4
    assert runs.count("bad") == 1
    assert [one.name for one in found.measured()] == ["glibc", "other"]
    assert tail_table.calls(found)[-1] == "single calls not measured: bad"


BUCKETS = r"""
#include "tail/histogram.h"
#include <stdio.h>
static int wrong(uint64_t v) {
    uint32_t b = histogram_bucket(v);
    uint64_t low = histogram_lowest(b), next = b + 1 < HISTOGRAM_BUCKETS ? histogram_lowest(b + 1) : 0;
    int inside = low <= v && (v < next || next == 0) && b < HISTOGRAM_BUCKETS;
    int narrow = v < 4096 ? low == v : next == 0 || (double)(next - low) / (double)low < 0.0005;
    if (!inside || !narrow) printf("%llu\n", (unsigned long long)v);
    return !inside || !narrow;
}
int main(void) {
    int bad = 0;
    for (uint64_t v = 0; v < 100000; v++) bad |= wrong(v);
    for (unsigned bit = 12; bit < 64; bit++)
        for (uint64_t d = 0; d < 3; d++) bad |= wrong((1ull << bit) + d) | wrong((1ull << bit) - d);
    return bad | wrong(UINT64_MAX);
}
"""


def test_buckets_hold_their_values_and_are_narrow(tmp_path):
    source = tmp_path / "buckets.c"
    source.write_text(BUCKETS)
    program = compiled(tmp_path / "buckets", [source, BENCH / "tail/histogram.c", BENCH / "worker.c"])
    done = subprocess.run([program], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


COUNTER = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>
extern void *__libc_malloc(unsigned long);
static unsigned long calls;
void *malloc(unsigned long n) { calls++; return __libc_malloc(n); }
__attribute__((destructor)) static void say(void) { dprintf(2, "mallocs=%lu\n", calls); }
"""


def test_nothing_but_the_workload_reaches_the_allocator(bench_dir, tmp_path):  # noqa: F811
    source = tmp_path / "counter.c"
    source.write_text(COUNTER)
    library = compiled(tmp_path / "libcounter.so", [source], "-shared", "-fPIC")

    def counted(steps):
        path = tmp_path / "histograms"
        command = [bench_dir / "tail_mixed", str(steps), "60", "1", path]
        environment = {"LD_PRELOAD": str(library)}
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        recording = tail.parse(path.read_text())
        return int(re.search(r"mallocs=(\d+)", done.stderr).group(1)), recording

    (few, short), (many, long) = counted(1000), counted(51000)
    recorded = [sum(count for *_, count in recording.buckets["malloc"]) for recording in (short, long)]
    assert many - few == recorded[1] - recorded[0] > 20000
    assert sum(count for *_, count in long.buckets["clock"]) == 51000
    assert recorded[1] + sum(count for *_, count in long.buckets["free"]) == 51000


@pytest.mark.parametrize("words", [[], ["10"], ["x", "1", "1", "/dev/null"], ["1", "0", "1", "/dev/null"]])
def test_the_driver_refuses_bad_words(bench_dir, words):  # noqa: F811
    done = subprocess.run([bench_dir / "tail_mixed", *words], stdin=subprocess.DEVNULL, capture_output=True)
    assert done.returncode == 2 and done.stderr


@pytest.fixture
def command(bench_dir, monkeypatch):  # noqa: F811
    """Runs `hakmem tail` on glibc with these drivers."""
    monkeypatch.setenv("BENCH_DIR", str(bench_dir))
    usual = ["--allocator", "glibc", "--ws", "50", "--runs", "2", "--iters", "5000", "--epochs", "3", "--epoch", "2ms"]
    return lambda *words: cli.main(["tail", *usual, *map(str, words)])


def test_the_command_end_to_end(command, tmp_path, capsys):
    assert command("--plot", tmp_path / "curve", "--json", tmp_path / "tail.json") == 0
    words = capsys.readouterr().out
    assert len(re.findall(r"^glibc( +[\d.]+){6}$", words, re.M)) == 2, words
    assert len(re.findall(r"^glibc +3 ", words, re.M)) == 1
    record = json.loads((tmp_path / "tail.json").read_text())
    calls = record["allocators"]["glibc"]
    assert calls["malloc"]["count"] + calls["free"]["count"] == 2 * 5000
    assert all(call["ns"] == sorted(call["ns"]) and len(call["runs"]) == 2 for call in calls.values())
    assert record["epochs"]["glibc"]["epochs"] == 3 and record["clock_cost_ns"] > 0
    assert record["kind"] == "tail" and {"commit", "machine", "options"} <= set(record) and record["machine"]["date"]
    assert [(side["name"], bool(side["version"])) for side in record["sides"]] == [("glibc", True)]
    for what in tail.CALLS:
        assert (tmp_path / f"curve-{what}.svg").exists() and (tmp_path / f"curve-{what}.png").exists()


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("y.png", ["y-free.png", "y-malloc.png"]),
        ("y.pdf", ["y-free.pdf", "y-malloc.pdf"]),
        ("of.%s.svg", ["of.free.svg", "of.malloc.svg"]),
        ("%s", ["free.png", "free.svg", "malloc.png", "malloc.svg"]),
        ("y", ["y-free.png", "y-free.svg", "y-malloc.png", "y-malloc.svg"]),
    ],
)
def test_the_name_of_a_plot_says_what_it_is(command, tmp_path, capsys, pattern, names):
    assert command("--epochs", "0", "--plot", tmp_path / pattern) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert str(tmp_path / names[0]) in capsys.readouterr().out


def test_plots_that_cannot_be_are_refused(command, tmp_path, capsys):
    assert command("--plot", tmp_path / "y.gif") == 2 and "is no picture" in capsys.readouterr().err
    both = tmp_path / "y-malloc.svg"
    assert command("--plot", tmp_path / "y.svg", "--json", both) == 2
    assert f"--plot and --json name the same file, {both}" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("when", ["epoch_length", "LongRun"])
def test_ctrl_c_in_the_epochs_keeps_the_calls_and_says_who_is_missing(command, capsys, monkeypatch, when):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(*((sources, when) if when == "epoch_length" else (sources.LongRun, "next")), interrupt)
    assert command("--json", "-") == 130
    record = json.loads(capsys.readouterr().out)
    assert record["interrupted"] and record["allocators"]["glibc"]["malloc"]["count"] > 0
    assert command() == 130
    words = capsys.readouterr().out
    assert len(re.findall(r"^glibc( +[\d.]+){6}$", words, re.M)) == 2 and "epochs not measured: glibc" in words


def test_without_epochs_and_json_alone(command, capsys):
    assert command("--epochs", "0", "--json", "-") == 0
    assert json.loads(capsys.readouterr().out)["epochs"] == {}


def test_a_place_where_nothing_can_be_written(command, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert command("--epochs", "0", "--json", tmp_path / "file/x.json") == 1
    said = capsys.readouterr()
    assert "cannot write" in said.err and "ns" not in said.out, "said before anything is measured, not after"
    assert command("--epochs", "0", "--plot", tmp_path / "nowhere/%s.svg") == 1
    said = capsys.readouterr()
    assert f"cannot write {tmp_path}/nowhere/malloc.svg: there is no such directory" in said.err and "ns" not in said.out
