"""`hakmem bench`: a campaign on a simulated machine, its tables, and one small run of the command itself."""

import functools
import io
import json
import os
import signal
import subprocess
import sys

import pytest
from rich.console import Console

from lab import bench_tables, campaign, cli, programs, streams, workloads
from lab.commands import bench
from lab.errors import CrashError
from lab.model import Workload
from lab.statistics import Interval
from lab.tests.simulated import Machine, allocator

SIDES = [allocator("ours"), allocator("fast"), allocator("slow")]
WORKLOADS = [Workload(name, f"is {name} fast", ["unused"], seconds=0.2, after="nothing") for name in ("one", "two", "three")]


def machine(**how):
    return Machine(cost={"ours": 0.2, "fast": 0.16, "slow": 0.3}, **how)


def measured(simulated, **how):
    how = {"blocks": 12, "precision": None} | how
    return campaign.measure(WORKLOADS, SIDES, runner=simulated.run, clock=simulated.clock, **how)


def text_of(renderable):
    out = io.StringIO()
    Console(file=out, width=200).print(renderable)
    return out.getvalue()


def test_every_workload_is_measured_and_the_best_is_found():
    done = measured(machine())
    assert [len(result.comparison.blocks) for result in done.results] == [12, 12, 12] and not done.interrupted
    for result in done.results:
        assert result.best_peer("ours") == "fast" and result.fastest_first() == ["fast", "ours", "slow"]
        assert result.interval("ours", "fast").high < 1 < result.interval("ours", "slow").low


def test_a_budget_is_shared_by_the_length_of_the_runs():
    simulated = machine()
    done = measured(simulated, budget_s=90, blocks=1000)
    blocks = [len(result.comparison.blocks) for result in done.results]
    assert len(blocks) == 3 and min(blocks) * 3 > max(blocks) and simulated.now < 120


def test_when_the_time_is_up_the_rest_is_not_measured():
    done = measured(machine(), budget_s=1e-9)
    assert [result.workload.name for result in done.results] == ["one"]


@pytest.mark.parametrize("after", [0, 1, 20, 100])
def test_ctrl_c_keeps_what_was_measured(after):
    done = measured(machine(interrupt_after=after))
    runs = sum(len(result.comparison.samples(side.name)) for result in done.results for side in SIDES if result.comparison)
    assert done.interrupted and runs <= after and (after < 20 or runs >= after // 2)
    for table in (bench_tables.summary_table(done), bench_tables.means_table(done)):
        assert text_of(table)
    assert json.dumps(campaign.as_json(done))


def test_a_workload_of_which_nothing_was_measured_counts_as_missing(capsys):
    done = measured(machine(interrupt_after=77))
    kept = [result for result in done.results if result.measured]
    assert len(kept) == 1 and len(done.results) == 2, "the second one had just begun"
    bench._print_summary(done, [], 3, bench_tables.console())
    assert "2 of 3 workloads were not measured: interrupted" in capsys.readouterr().out


def test_a_campaign_of_which_nobody_reads_ends_and_is_kept():
    def tell(result):
        raise streams.NoReader

    done = measured(machine(), on_result=tell)
    assert [result.workload.name for result in done.results] == ["one"] and done.interrupted
    assert len(done.results[0].comparison.blocks) == 12


def test_an_allocator_that_crashes_is_reported_and_the_others_are_measured():
    simulated = machine()

    def run(workload, side, *, cpu=None):
        if side.name == "slow" and workload.name == "two":
            raise CrashError("two on slow was killed by signal 11", "segmentation fault")
        return simulated.run(workload, side, cpu=cpu)

    done = campaign.measure(WORKLOADS, SIDES, runner=run, clock=simulated.clock, blocks=10, precision=None)
    first, second, _ = done.results
    assert second.measured == ["ours", "fast"] and "signal 11" in second.failures["slow"]
    assert first.measured == ["ours", "fast", "slow"]
    assert "FAILED" in text_of(bench_tables.workload_table(second, "ours"))
    assert "slow failed" in text_of(bench_tables.summary_table(done))


def test_when_all_crash_nothing_is_measured_and_it_is_said():
    def run(workload, side, *, cpu=None):
        raise CrashError(f"{workload.name} on {side.name} was killed")

    done = campaign.measure(WORKLOADS, SIDES, runner=run, blocks=10)
    assert all(result.measured == [] and set(result.failures) == {"ours", "fast", "slow"} for result in done.results)
    assert "was killed" in text_of(bench_tables.summary_table(done))


@pytest.mark.parametrize(
    ("interval", "words"),
    [
        (Interval(1.2, 1.1, 1.3, 10), "ahead"),
        (Interval(0.8, 0.7, 0.9, 10), "behind"),
        (Interval(1.001, 0.995, 1.006, 10), "level"),
        (Interval(1.01, 0.9, 1.1, 10), "too noisy"),
        (Interval(1.2, 1.1, 1.3, 9), "too few"),
    ],
)
def test_where_a_ratio_stands(interval, words):
    assert campaign.standing(interval) == words


def test_losses_are_shown_as_plainly_as_wins():
    done = measured(machine())
    table = text_of(bench_tables.workload_table(done.results[0], "ours"))
    rows = {line.split()[0]: line for line in table.splitlines() if line.split()[:1] and line.split()[0] in ("fast", "slow")}
    assert rows["fast"].rstrip().endswith("behind") and rows["slow"].rstrip().endswith("ahead")
    summary = text_of(bench_tables.summary_table(done))
    assert summary.count("behind") == 3 and "0.8" in summary
    means = [line.split() for line in text_of(bench_tables.means_table(done)).splitlines()]
    assert ["0", "3", "0", "0"] in [line[-4:] for line in means if line[:1] == ["fast"]]
    assert ["3", "0", "0", "0"] in [line[-4:] for line in means if line[:1] == ["slow"]]


def test_every_table_has_the_same_ratio():
    result = measured(machine()).results[0]
    ratio = bench_tables.spoken_ratio(result.interval("ours", "fast"))
    one, all_of_them = (
        text_of(table)
        for table in (bench_tables.workload_table(result, "ours"), bench_tables.summary_table(campaign.Campaign("ours", SIDES, [result])))
    )
    assert ratio.startswith("0.8") and ratio in one and ratio in all_of_them
    assert "ours to it [95 %]" in one.replace("\N{NO-BREAK SPACE}", " ")
    assert all("above 1.00 ours is faster" in table for table in (one, all_of_them))


def test_a_core_that_was_shared_is_told():
    often = measured(machine(shared={"ours": 1.3, "fast": 1.3, "slow": 1.3}), blocks=40).results[0]
    never = measured(machine()).results[0]
    assert "another hardware thread had part of the core" in text_of(bench_tables.workload_table(often, "ours"))
    assert "hardware thread" not in text_of(bench_tables.workload_table(never, "ours"))


def test_a_narrow_terminal_cuts_no_figure_off(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(bench_tables, "Console", functools.partial(Console, force_terminal=True, file=io.StringIO()))
    names = {"ours": "hakmem-hardened", "fast": "gperftools-2.10"}
    sides = [allocator(names.get(each.name, each.name)) for each in SIDES]
    simulated = Machine(cost={sides[0].name: 0.2, sides[1].name: 0.16, "slow": 0.3})
    loop = [Workload("producer_consumer", "?", ["unused"], seconds=0.2, after="nothing")]
    done = campaign.measure(loop, sides, blocks=12, precision=None, runner=simulated.run, clock=simulated.clock)
    out = bench_tables.console()
    out.print(bench_tables.summary_table(done))
    out.print(bench_tables.means_table(done))
    said = out.file.getvalue() + bench_tables.as_text(bench_tables.workload_table(done.results[0], sides[0].name), out.width)
    assert "…" not in said and all(words in said for words in ("producer_consumer", *names.values()))


def test_geometric_mean():
    assert campaign.geometric_mean([2.0, 0.5]) == pytest.approx(1.0)
    assert campaign.geometric_mean([1.1, 1.1, 1.1]) == pytest.approx(1.1)
    assert campaign.geometric_mean([]) == 1


@pytest.mark.parametrize(("blocks", "said"), [(1, "1.250 [one block]"), (5, "1.250 [5 blocks]"), (6, "1.250 [1.200, 1.300]")])
def test_a_ratio_of_too_few_blocks_has_no_interval(blocks, said):
    assert bench_tables.spoken_ratio(Interval(1.25, 1.2, 1.3, blocks)) == said


@pytest.mark.parametrize(
    ("value", "unit", "spoken"),
    [(22.4e6, "ops/s", "22.4 M ops/s"), (388.2, "ops/s", "388 ops/s"), (5e9, "ops/s", "5 G ops/s"), (0.3121, "s", "0.312 s")],
)
def test_values_for_people(value, unit, spoken):
    assert bench_tables.spoken_value(value, unit) == spoken


def test_the_witness_sees_every_allocator_in_every_program_once():
    asked = []
    same = Workload("four", "?", ["unused", "other arguments"], group="mixed")
    other = Workload("five", "?", ["another"], group="real")
    campaign.prove([*WORKLOADS, same, other], SIDES, witness_of=lambda side, command, env: asked.append((side.name, command[0])))
    assert asked == [(side.name, program) for program in ("unused", "another") for side in SIDES]


def test_a_false_claim_ends_the_campaign_before_anything_is_measured(tmp_path, capsys):
    fake = tmp_path / "libfake.so"
    fake.write_bytes(b"no library")
    words = ["bench", "-w", "tree", "--reference", "glibc", "-p", f"fake={fake}", "--pairs", "1", "--quiet"]
    assert cli.main(words) == 1
    said = capsys.readouterr()
    assert "fake" in said.err and "Throughput" not in said.out and "hakmem against" not in said.out


def test_the_command_measures_hakmem_against_glibc(tmp_path, capsys):
    target = tmp_path / "bench.json"
    words = ["bench", "-w", "strings", "-w", "tree", "-p", "glibc", "--pairs", "1", "--json", str(target), "--quiet"]
    assert cli.main(words) == 0
    said = capsys.readouterr().out
    values = json.loads(target.read_text())
    assert "tree" in said and "geometric means" in said and "glibc" in said
    assert [each["name"] for each in values["allocators"]] == ["hakmem", "glibc"]
    tree = next(each for each in values["results"] if each["workload"]["name"] == "tree")
    assert len(tree["blocks"]) == 1 and len(tree["blocks"][0]) == 4
    assert set(tree["speed_to_reference"]) == {"hakmem", "glibc"} and values["machine"]["cores"] > 0


def test_json_on_standard_output_is_nothing_but_json(capsys):
    assert cli.main(["bench", "-w", "tree", "-p", "glibc", "--pairs", "1", "--json", "-", "--quiet"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["kind"] == "bench" and "geometric means" in said.err


def test_ctrl_c_ends_the_command_with_status_130_and_what_was_measured():
    programs.ready()
    words = ["bench", "-w", "mixed_1m", "-p", "glibc", "--pairs", "100000"]
    command = subprocess.Popen(
        [sys.executable, "-m", "lab", *words], cwd=programs.ROOT, env=os.environ | {"LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert "Ctrl-C keeps" in command.stderr.readline()
    command.send_signal(signal.SIGINT)
    out, err = command.communicate(timeout=300)
    assert command.returncode == 130 and "interrupted" in out + err


def test_a_workload_of_a_group_is_that_workload_alone():
    assert [each.name for each in workloads.choose(["larson"], ["threads", "real"])] == ["larson"]
    assert {each.name for each in workloads.choose(["perl"], ["real"])} <= {"perl"}
    assert len(workloads.choose([], ["threads"])) > 1


def test_the_list_names_every_workload(capsys):
    assert cli.main(["bench", "--list"]) == 0
    said = capsys.readouterr().out
    for name in ("mixed_400", "xmalloc", "fork_storm", "redis", "python_malloc", "glibc"):
        assert name in said
    assert cli.main(["bench", "--list", "--json", "-"]) == 0
    listed = json.loads(capsys.readouterr().out)
    threads = {row["name"]: row["threads"] for row in listed["workloads"]}
    assert (threads["mixed_400"], threads["redis"]) == (1, None)
    assert "glibc" in [each["name"] for each in listed["allocators"]]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-w", "nope"], "nope"),
        (["-g", "nope"], "nope"),
        (["--budget", "soon"], "soon"),
        (["--size", "huge"], "huge"),
        (["--pairs", "0"], "pairs"),
        (["-p", "nomalloc", "-w", "tree"], "nomalloc"),
        (["-g", "threads", "-w", "larson", "-w", "tree"], "tree is not in the group threads but in structures"),
        (["--reference", "glibc", "-p", "glibc", "-w", "tree"], "glibc is the reference itself\n  name another --peer"),
        (["-g", "real", "-w", "tree"], "add --group structures"),
    ],
)
def test_what_does_not_exist_ends_with_status_2(words, said, capsys):
    assert cli.main(["bench", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_said_before_anything_is_measured(capsys):
    words = ["bench", "-w", "tree", "-p", "glibc", "--json", "/nowhere/at/all.json"]
    assert cli.main(words) == 1
    assert "cannot write" in capsys.readouterr().err


def test_the_forecast_is_the_work_that_is_done_in_the_end():
    seen = []
    measured(machine(), on_step=lambda workload, comparison: seen.append(campaign.work_s(comparison)))
    assert seen[0] == 0 and max(seen) == pytest.approx(campaign.forecast_s(WORKLOADS[:1], len(SIDES), 12))
