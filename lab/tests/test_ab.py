"""`hakmem ab` from the command line: on a simulated machine, and once for real with a factor nobody can miss."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from lab import builds, cli, lineup, pairs, peers, record, streams, workloads
from lab.commands import ab
from lab.model import Workload
from lab.tests.compiled import compiled
from lab.tests.simulated import MIXED, Machine, allocator

SPIN = "i=0; while [ $i -lt $SPIN ]; do i=$((i+1)); done"


@pytest.fixture
def simulated(monkeypatch, tmp_path):
    """One simulated machine under the command; `slow` is 3 % slower than `good`."""
    machine = Machine(
        {"good": 0.2, "slow": 0.206, "A:good": 0.2, "B:good": 0.2, "standard-1": 0.2, "standard-2": 0.2}, noise=0.01
    )
    real = pairs.compare

    def compare(workload, sides, **how):
        return real(workload, sides, **(how | {"witness": False, "runner": machine.run, "clock": machine.clock}))

    monkeypatch.setattr(ab.pairs, "compare", compare)
    monkeypatch.setattr(ab.controls.pairs, "compare", compare)
    monkeypatch.setattr(workloads, "choose", lambda names, *more: [replace(MIXED, name=name) for name in names])
    monkeypatch.setattr(peers, "find", allocator)
    monkeypatch.setattr(record.write, "__defaults__", (tmp_path / "experiments",))
    machine.experiments = tmp_path / "experiments"
    return machine


def test_a_record_that_cannot_be_written_costs_nothing_but_itself(simulated, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(record.write, "__defaults__", (Path("/dev/null/experiments"),))
    assert cli.main(["ab", "good", "slow", "-q", "--json", str(tmp_path / "x.json")]) == 1
    said = capsys.readouterr()
    assert "slow against good: NO-GO" in said.out and (tmp_path / "x.json").stat().st_size > 0
    assert "cannot write in" in said.err and "--no-record" in said.err


def test_what_was_measured_is_recorded_also_where_nobody_reads(simulated, tmp_path, monkeypatch):
    def say(self, *lines):
        raise streams.NoReader

    monkeypatch.setattr(ab.verdict_text.Output, "say", say)
    monkeypatch.setattr(cli.streams, "give_up_output", lambda: None)
    assert cli.main(["ab", "good", "slow", "-q", "--json", str(tmp_path / "x.json"), "-w", "one", "-w", "two"]) == 141
    assert len(json.loads((tmp_path / "x.json").read_text())["outcomes"]) == 1, "what nobody reads is not measured"
    assert len(list(simulated.experiments.glob("*-slow-against-good.*"))) == 2


def test_a_slower_side_is_no_go_and_recorded(simulated, capsys):
    assert cli.main(["ab", "good", "slow", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "slow against good: NO-GO" in out and "recorded in" in out and "cpu on CPU" in out
    assert len(list(simulated.experiments.glob("*-slow-against-good.*"))) == 2


def test_the_same_twice_is_neutral(simulated, capsys):
    assert cli.main(["ab", "good", "good", "--quiet", "--no-record"]) == 0
    assert "B:good against A:good: NEUTRAL" in capsys.readouterr().out
    assert not simulated.experiments.exists()


def test_json_alone_on_standard_output(simulated, capsys):
    assert cli.main(["ab", "good", "slow", "-q", "--json", "-", "--seed", "3", "-w", "one", "-w", "two"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["verdict"] == "NO-GO" and [found["workload"] for found in facts["outcomes"]] == ["one", "two"]


def test_json_in_a_file(simulated, tmp_path):
    assert cli.main(["ab", "good", "slow", "-q", "--no-record", "--json", str(tmp_path / "x.json")]) == 0
    assert json.loads((tmp_path / "x.json").read_text())["kind"] == "ab"


def test_interrupted_keeps_what_was_measured(simulated, capsys):
    simulated.interrupt_after = 2 + 4 * 11 + 2
    assert cli.main(["ab", "good", "slow", "-q", "-w", "one", "-w", "two"]) == 130
    out = capsys.readouterr().out
    assert "one: slow against good" in out and "interrupted" in out and "two:" not in out
    facts = json.loads(next(simulated.experiments.glob("*.json")).read_text())
    assert facts["comparisons"][0]["blocks"] == 11 and facts["comparisons"][0]["stopped"] == "interrupted"


def test_a_record_without_a_verdict_is_told_from_others(simulated, capsys):
    assert cli.main(["ab", "good", "slow", "-q", "--max-pairs", "3"]) == 0
    written = next(simulated.experiments.glob("*-slow-against-good-unfinished.md"))
    assert ", unfinished)\n" in written.read_text() and written.with_suffix(".json").exists()
    assert f"{written.name}: unfinished" in capsys.readouterr().out
    assert cli.main(["ab", "good", "slow", "-q", "--max-pairs", "6"]) == 0
    assert len(list(simulated.experiments.glob("*-slow-against-good.md"))) == 1
    assert "unfinished" not in capsys.readouterr().out


@pytest.mark.parametrize("blocks, verdict", [(3, "NEUTRAL (unfinished)"), (9, "NEUTRAL (unfinished)"), (10, "NO-GO")])
def test_who_interrupts_early_gets_no_verdict_however_it_looks(simulated, tmp_path, capsys, blocks, verdict):
    simulated.interrupt_after = 2 + 4 * blocks + 1
    assert cli.main(["ab", "good", "slow", "-q", "--json", str(tmp_path / "x.json")]) == 130
    assert f"slow against good: {verdict}  -" in capsys.readouterr().out
    written = next(simulated.experiments.glob("*.md")).read_text()
    assert f"**Verdict**: {verdict}. " in written and f"| cpu | {verdict}: " in written
    for file in (tmp_path / "x.json", next(simulated.experiments.glob("*.json"))):
        facts = json.loads(file.read_text())
        for judged in (facts, facts["outcomes"][0]):
            assert (judged["verdict"], judged["unfinished"]) == (verdict.split()[0], blocks < 10)


def test_interrupted_at_once_says_so(simulated, capsys):
    simulated.interrupt_after = 1
    assert cli.main(["ab", "good", "slow", "-q"]) == 130
    assert "nothing to report" in capsys.readouterr().err and not simulated.experiments.exists()


def test_too_few_blocks_give_no_verdict(simulated, capsys):
    assert cli.main(["ab", "good", "slow", "-q", "--no-record", "--max-pairs", "3"]) == 0
    out = capsys.readouterr().out
    assert "NEUTRAL (unfinished)" in out and "too few blocks" in out


@pytest.mark.parametrize("blocks, said", [(1, "[one block]"), (5, "[5 blocks]"), (6, "[-")])
def test_what_cannot_carry_an_interval_has_none(simulated, tmp_path, capsys, blocks, said):
    assert cli.main(["ab", "good", "slow", "-q", "--max-pairs", str(blocks), "--json", str(tmp_path / "x.json")]) == 0
    written = next(simulated.experiments.glob("*.md")).read_text()
    for text in (capsys.readouterr().out, written):
        changes = re.findall(r"-\d\.\d\d % (\[[^]]+\])", text)
        assert len(changes) == 3 and all(change.startswith(said) for change in changes), "of all metrics"
    facts = json.loads((tmp_path / "x.json").read_text())["outcomes"][0]
    for interval in (facts["interval"], facts["other_metrics"]["wall"]):
        assert (interval["low"] is None, interval["high"] is None) == (blocks < 6, blocks < 6) and interval["median"] < 1


def test_bounds_that_cross_and_a_file_that_cannot_be_are_said(simulated, capsys, tmp_path):
    assert cli.main(["ab", "good", "slow", "-q", "--no-record", "--min-pairs", "20", "--max-pairs", "10"]) == 2
    assert "--min-pairs 20 is more than --max-pairs 10" in capsys.readouterr().err
    assert cli.main(["ab", "good", "slow", "-q", "--no-record", "--budget", "soon"]) == 2
    assert "--budget is a duration" in capsys.readouterr().err
    missing = tmp_path / "missing" / "x.json"
    assert cli.main(["ab", "good", "slow", "-q", "--no-record", "--budget", "240s", "--json", str(missing)]) == 1
    said = capsys.readouterr()
    assert f"cannot write {missing}" in said.err
    assert "GO" not in said.out, "said before anything is measured, not after"


def test_too_noisy_says_how_many_more(simulated, capsys):
    simulated.noise = 0.2
    assert cli.main(["ab", "good", "good", "-q", "--no-record", "--max-pairs", "12"]) == 0
    out = capsys.readouterr().out
    assert "too noisy to tell" in out and "more blocks (" in out


def test_the_level_is_the_band(simulated, capsys):
    assert cli.main(["ab", "good", "slow", "-q", "--no-record", "--level", "build", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["outcomes"][0]["band"] == 0.005


def test_a_price_list_compares_every_box(simulated, monkeypatch, capsys):
    names = ["standard", "one=1", "two=0"]
    simulated.cost |= {"standard": 0.2, "one=1": 0.21, "two=0": 0.2}
    monkeypatch.setattr(builds, "price_sides", lambda variant: [allocator(name) for name in names])
    assert cli.main(["ab", "--price", "-q"]) == 0
    out = capsys.readouterr().out
    assert "one=1 against standard: NO-GO" in out and "two=0 against standard: NEUTRAL" in out
    assert "Price of every box" in next(simulated.experiments.glob("*.md")).read_text()


def test_power_is_told_for_every_metric(simulated, monkeypatch, capsys):
    monkeypatch.setattr(builds, "build", lambda variant: "unused")
    assert cli.main(["ab", "--power", "-q", "--budget", "60"]) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in ("cpu", "wall", "throughput", "seen", "called"))


def test_one_block_tells_no_noise(simulated, monkeypatch, capsys):
    monkeypatch.setattr(builds, "build", lambda variant: "unused")
    assert cli.main(["ab", "--power", "-q", "--budget", "100ms"]) == 1
    out = capsys.readouterr().out
    assert "too few to tell how noisy they are; that takes 6" in out and "0.00 %" not in out


def test_the_controls_pass_and_fail(simulated, monkeypatch, capsys):
    pair = (allocator("good"), allocator("slow"))
    monkeypatch.setattr(builds, "same_sides", lambda variant: (allocator("A:good"), allocator("B:good")))
    monkeypatch.setattr(builds, "box_sides", lambda name, variant: pair)
    assert cli.main(["ab", "--control", "-q", "--trials", "3"]) == 0
    assert "negative control: passed" in capsys.readouterr().out
    monkeypatch.setattr(builds, "box_sides", lambda name, variant: pair[::-1])
    assert cli.main(["ab", "--control", "-q", "--trials", "3"]) == 1
    assert "positive control: FAILED" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words, said",
    [
        ([], "takes two sides"),
        (["good"], "nothing to compare good with"),
        (["good", "slow", "--price"], "one question at a time, not A B and --price"),
        (["good", "slow", "--power"], "not A B and --power\n  leave out all but one"),
        (["good", "--box", "tax"], "not A B and --box"),
        (["good", "slow", "--level", "x"], "unknown level"),
        (["good", "slow", "--metric", "x"], "unknown metric"),
        (["good", "slow", "--cpu", "9999"], "--cpu is last, any, or one of"),
        (["good", "slow", "--budget", "0"], "budget"),
        (["--box", "nonsense"], "unknown box"),
        (["--opt", "PREWARM"], "NAME=a,b"),
        (["--opt", "PREWARM=1,1"], "both sides"),
        (["--opt", "NONSENSE=1,2"], "unknown option"),
        (["--box", "tax", "--variant", "x"], "unknown variant"),
        (["--power", "--metric", "instructions"], "no noise"),
    ],
)
def test_what_does_not_fit_is_refused(simulated, monkeypatch, words, said, capsys):
    if "--power" in words:
        monkeypatch.setattr(builds, "build", lambda variant: "unused")
    assert cli.main(["ab", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("word, pinned", [("last", True), ("auto", True), ("any", False), ("off", False)])
def test_the_words_for_a_cpu_are_those_of_the_other_commands_and_the_earlier_ones(simulated, word, pinned):
    assert cli.main(["ab", "good", "slow", "-q", "--no-record", "--max-pairs", "1", "--cpu", word]) == 0
    assert {cpu is not None for _, cpu in simulated.runs} == {pinned}
    assert lineup.cpu_of(word) == (max(os.sched_getaffinity(0)) if pinned else None)


def test_the_tables_of_the_source_are_read():
    boxes = builds.boxes()
    assert {"tax", "counters", "asserts"} <= set(boxes) and not any(boxes["tax"].columns.values())
    assert boxes["counters"].columns["observe"] and not boxes["counters"].columns["standard"]
    assert {"HAKMEM_PREWARM", "HAKMEM_SS_MEM_LEAN", "HAKMEM_PROFILE"} <= builds.options()


def test_options_are_settings_of_one_library(monkeypatch):
    monkeypatch.setattr(builds, "build", lambda variant: f"/{variant}.so")
    for word in ("PREWARM=1,8", "HAKMEM_PREWARM=1,8"):
        one, eight = builds.option_sides(word, "fast")
        assert one.path == eight.path == "/fast.so" and (one.name, eight.name) == ("PREWARM=1", "PREWARM=8")
        assert (one.env["HAKMEM_PREWARM"], eight.env["HAKMEM_PREWARM"]) == ("1", "8")


PICKY = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((constructor)) static void look(void) {
    const char *value = getenv("HAKMEM_PREWARM");
    if (getenv("HAKMEM_STRICT") && value && strcmp(value, "many") == 0) {
        fprintf(stderr, "hakmem: refused (not a number): HAKMEM_PREWARM=many\\n");
        _exit(2);
    }
}
"""


@pytest.mark.parametrize("word", ["PREWARM=1,many", "PREWARM=many,1"])
def test_a_value_that_the_library_refuses_is_named_before_anything_is_measured(monkeypatch, tmp_path, word, capsys):
    source = tmp_path / "picky.c"
    source.write_text(PICKY)
    library = compiled(tmp_path / "picky.so", [source], "-shared", "-fPIC")
    monkeypatch.setattr(builds, "build", lambda variant: library)
    assert cli.main(["ab", "--opt", word]) == 2
    said = capsys.readouterr().err
    assert "HAKMEM_PREWARM does not take 'many': it is not a number" in said and "docs/options.md" in said
    assert [side.env["HAKMEM_PREWARM"] for side in builds.option_sides("PREWARM=1,8")] == ["1", "8"]


def test_for_real_ten_times_the_work_is_no_go(monkeypatch, tmp_path, capsys):
    workload = Workload("spin", "?", ["sh", "-c", SPIN], {}, "s", False)
    sides = {
        name: replace(peers.find("glibc"), name=name, env={"SPIN": turns})
        for name, turns in (("few", "3000"), ("many", "30000"))
    }
    monkeypatch.setattr(workloads, "choose", lambda names, *more: [workload])
    monkeypatch.setattr(peers, "find", sides.__getitem__)
    monkeypatch.setattr(record.write, "__defaults__", (tmp_path,))
    words = ["ab", "few", "many", "--max-pairs", "10", "--budget", "200", "--json", str(tmp_path / "x.json")]
    assert cli.main(words) == 0
    assert "many against few: NO-GO" in capsys.readouterr().out
    facts = json.loads((tmp_path / "x.json").read_text())
    assert facts["outcomes"][0]["interval"]["median"] < 0.7 and facts["comparisons"][0]["blocks"] == 10
    assert next(tmp_path.glob("*.md")).exists()
