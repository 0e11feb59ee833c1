"""Real programs: the same work every time, what is missing is reported, redis is the server alone."""

import os
import resource
import shutil
import subprocess

import pytest

from lab import real, run, workloads
from lab.errors import AskedWrongly, CrashError, LabError
from lab.model import Allocator, Workload

GLIBC = Allocator("glibc", None, "", "", "glibc")


def output(command, **env):
    done = subprocess.run(
        command, env={"PATH": os.environ["PATH"], "HOME": "/", "LC_ALL": "C", **env},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-400:]
    return done.stdout


@pytest.fixture
def made(monkeypatch, tmp_path):
    """What programs work on is made in a directory of the test's own."""
    monkeypatch.setattr(real, "MADE", tmp_path / "real")
    return tmp_path / "real"


SAME_OUTPUT = ["sqlite", "python", "python_malloc", "jq", "perl", "lua", "node"]


@pytest.mark.parametrize("name", SAME_OUTPUT)
def test_a_program_does_the_same_work_every_time_and_some(made, name):
    skipped = []
    found = real.real_programs([name], skipped=skipped)
    if skipped:
        pytest.skip(skipped[0].reason)
    if name == "node" and resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        pytest.skip("node needs more address space than the limit")
    first, second = (output(found[0].command, **found[0].env) for _ in range(2))
    assert first == second and len(first) > 3


@pytest.mark.parametrize("name", ["git", "g++"])
def test_a_program_without_output_can_be_repeated(made, name):
    skipped = []
    found = real.real_programs([name], skipped=skipped)
    if skipped:
        pytest.skip(skipped[0].reason)
    samples = [run.run_once(found[0], GLIBC, timeout=300) for _ in range(2)]
    assert all(sample.cpu_s > 0 for sample in samples)


def test_the_repository_and_the_json_are_always_the_same(tmp_path):
    assert real._git_stream() == real._git_stream()
    real._make_json(tmp_path / "a")
    real._make_json(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_half_made_work_does_not_count(made, monkeypatch):
    if not real.tool("jq"):
        pytest.skip("there is no jq")
    made.mkdir()
    (made / "rows.json.new").write_text("[{")
    real.real_programs(["jq"])
    assert (made / "rows.json").read_text().endswith("]") and not (made / "rows.json.new").exists()


def test_a_missing_program_is_reported_with_its_package(made, monkeypatch):
    monkeypatch.setattr(real, "tool", lambda name: None if name == "redis-cli" else "/bin/true")
    skipped = []
    found = real.real_programs(["redis", "perl"], skipped=skipped)
    assert [each.name for each in found] == ["perl"]
    assert [(each.name, each.reason, each.package) for each in skipped] == [("redis", "there is no redis-cli", "redis-server")]


def test_unknown_names_and_budgets_are_asked_wrongly(made):
    with pytest.raises(AskedWrongly, match="nope"):
        real.real_programs(["nope"])
    with pytest.raises(AskedWrongly, match="'long'"):
        real.real_programs(["perl"], budget="long")


def test_the_measure_is_time_and_less_is_better(made, monkeypatch):
    monkeypatch.setattr(real, "tool", lambda name: f"/bin/{name}")
    monkeypatch.setattr(real, "_made", lambda program: None)
    for workload in real.real_programs():
        assert (workload.unit, workload.higher_is_better, workload.group) == ("s", False, "real")
        assert workload.threads == 1 and workload.question


def test_a_workload_is_found_by_name_and_a_missing_one_says_its_package(made, monkeypatch):
    monkeypatch.setattr(real, "tool", lambda name: None)
    with pytest.raises(AskedWrongly, match="no jq") as raised:
        workloads.find("jq")
    assert "jq" in raised.value.fix


def need_redis():
    if not all(map(shutil.which, ("redis-server", "redis-cli", "redis-benchmark"))):
        pytest.skip("redis is not here")


def redis(requests, socket, **env):
    return Workload("redis", "?", ["sh", str(real.WORK / "redis.sh"), str(requests), str(socket)], env, "s", False)


def test_redis_ends_by_itself_and_leaves_no_socket(tmp_path):
    need_redis()
    sample = run.run_once(redis(200, tmp_path / "s"), GLIBC, timeout=300)
    assert sample.cpu_s > 0 and not (tmp_path / "s").exists()


def test_a_client_that_fails_is_a_crash_of_the_run(tmp_path):
    need_redis()
    (tmp_path / "redis-benchmark").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "redis-benchmark").chmod(0o755)
    with pytest.raises(CrashError, match="signal 9"):
        run.run_once(redis(10, tmp_path / "s", PATH=f"{tmp_path}:{os.environ['PATH']}"), GLIBC, timeout=300)


def test_packages_that_are_there_need_no_installation():
    if not shutil.which("dpkg-query"):
        pytest.skip("this is not Debian")
    real.install(["dpkg"])


def test_a_failed_installation_is_said(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(subprocess, "run", lambda *words, **how: subprocess.CompletedProcess(words, 1))
    with pytest.raises(LabError, match="some-package"):
        real.install(["some-package"])
