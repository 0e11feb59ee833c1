"""Single runs: clean environment, exact costs, crashes with their last words. The commands are shells."""

import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from lab import run
from lab.errors import CrashError, LabError
from lab.model import Allocator, Machine, Workload

GLIBC = Allocator("glibc", None, "", "", "glibc")
LINE = 'echo "Throughput = 1234567 ops/s [iter=1 ws=400] time=0.100s"; '


def shell(text: str, **more) -> Workload:
    return Workload("w", "?", ["sh", "-c", text], **more)


def test_the_line_of_the_contract_is_the_value():
    sample = run.run_once(shell(LINE), GLIBC, order=7)
    assert sample.value == 1234567 and sample.order == 7
    assert sample.wall_s > 0 and abs(sample.started - time.time()) < 600


def test_a_pinned_run_says_whether_the_core_was_shared():
    cpu = max(os.sched_getaffinity(0))
    before, after = run.run_once(shell(LINE), GLIBC, cpu=cpu).extra["sharing"]
    assert 0.05 < before < 50 and 0.05 < after < 50  # a quotient of two loops of like length; the machine may be busy
    assert "sharing" not in run.run_once(shell(LINE), GLIBC).extra
    assert run.run_once(shell(LINE), GLIBC, cpu=cpu, machine=False).extra == {"cpu": cpu}


def test_a_run_of_several_threads_says_how_far_the_cores_are_from_each_other():
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) != 2:
        pytest.skip("there are not just two processors")
    runs = [run.run_once(shell(LINE, threads=2), GLIBC) for _ in range(10)]
    times = [value for sample in runs for value in sample.extra.get("distance", ())]
    assert any(times) and all(time == 0 or 5 < time < 100_000 for time in times)  # nanoseconds; the machine may be busy
    assert "distance" not in run.run_once(shell(LINE), GLIBC).extra
    assert run.run_once(shell(LINE, threads=2), GLIBC, machine=False).extra == {}


def test_the_command_may_run_where_it_might_before():
    allowed = os.sched_getaffinity(0)
    line = LINE.replace("1234567", "$(nproc)")
    assert run.run_once(shell(line, threads=2), GLIBC).value == len(allowed)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        sample = run.run_once(shell(line, threads=2), GLIBC)
    finally:
        os.sched_setaffinity(0, allowed)
    assert sample.value == 1 and "distance" not in sample.extra  # from one processor to itself


def test_of_several_lines_the_last_one_counts():
    assert run.run_once(shell(LINE + LINE.replace("1234567", "8.5")), GLIBC).value == 8.5


def test_seconds_are_wall_time():
    sample = run.run_once(shell("sleep 0.05", unit="s", higher_is_better=False), GLIBC)
    assert sample.value == sample.wall_s >= 0.05


def test_work_is_charged_to_the_command_and_its_children():
    spin = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; "
    idle = run.run_once(shell(LINE), GLIBC)
    busy = run.run_once(shell(f"sh -c '{spin}'; " + LINE), GLIBC)
    assert busy.cpu_s > 4 * idle.cpu_s and busy.cpu_s <= busy.wall_s * 1.5


def test_peak_memory_is_not_that_of_python():
    mine = 64 * 1024
    ballast = bytearray(mine * 1024)
    assert run.run_once(shell(LINE), GLIBC).peak_rss_kb < mine and len(ballast)


def test_a_peak_that_the_driver_reports_wins():
    assert run.run_once(shell(LINE + 'echo "[RSS] peak_kb=4711" >&2'), GLIBC).peak_rss_kb == 4711


def test_the_current_rss_is_that_of_the_last_epoch():
    epochs = "".join(
        f'echo "[EPOCH] {i} Throughput = 5 ops/s [iter=1 ws=4] time=1.0s rss_kb={2000 + i}"; ' for i in range(3)
    )
    assert run.run_once(shell(epochs + LINE), GLIBC).current_rss_kb == 2002


def test_nothing_is_inherited(monkeypatch):
    for name in ("HAKMEM_PROFILE", "MALLOC_ARENA_MAX", "MIMALLOC_VERBOSE", "LD_LIBRARY_PATH", "ANYTHING"):
        monkeypatch.setenv(name, "x")
    seen = run.environment(shell(LINE), GLIBC)
    assert set(seen) == {"PATH", "HOME", "LC_ALL"} and seen["LC_ALL"] == "C"
    with pytest.raises(CrashError) as crash:
        run.run_once(shell("env >&2; exit 1"), GLIBC)
    assert "HAKMEM" not in crash.value.last_words and "LC_ALL=C" in crash.value.last_words


def test_what_is_asked_for_arrives_in_order_of_precedence():
    workload = shell(LINE, env={"A": "workload", "B": "workload", "C": "workload"})
    side = replace(GLIBC, path="/lib/some.so", env={"B": "side", "C": "side"})
    seen = run.environment(workload, side, {"C": "caller"})
    assert (seen["A"], seen["B"], seen["C"], seen["LD_PRELOAD"]) == ("workload", "side", "caller", "/lib/some.so")


def test_a_crash_says_its_last_words():
    with pytest.raises(CrashError, match="signal 6") as crash:
        run.run_once(shell("echo corrupted heap >&2; kill -6 $$"), GLIBC)
    assert "w on glibc" in crash.value.message and "corrupted heap" in crash.value.message


def test_an_exit_status_is_a_failure():
    with pytest.raises(CrashError, match="exit status 3"):
        run.run_once(shell(LINE + "exit 3"), GLIBC)


def test_a_missing_program_is_named():
    with pytest.raises(CrashError, match="No such file"):
        run.run_once(Workload("w", "?", ["/nowhere/at/all"]), GLIBC)


def test_a_missing_line_is_a_failure():
    with pytest.raises(CrashError, match="Throughput"):
        run.run_once(shell("echo hello"), GLIBC)


def test_too_long_ends_the_command_and_its_children(tmp_path):
    left = tmp_path / "pid"
    with pytest.raises(CrashError, match="longer than"):
        run.run_once(shell(f"sleep 1000 & echo $! > {left}; wait"), GLIBC, timeout=2)
    if left.exists():  # the machine may be too slow to get there
        assert ended(int(left.read_text() or 0))


def ended(pid: int) -> bool:
    """Whether the process is gone, or only waits to be collected, within a generous time."""
    for _ in range(600):
        try:
            with open(f"/proc/{pid}/stat") as stat:
                if stat.read().rpartition(")")[2].split()[0] in "ZX":
                    return True
        except OSError:
            return True
        time.sleep(0.1)
    return False


def test_pinned_to_one_cpu():
    cpu = max(os.sched_getaffinity(0))
    text = "grep Cpus_allowed_list /proc/self/status >&2; exit 1"
    with pytest.raises(CrashError) as crash:
        run.run_once(shell(text), GLIBC, cpu=cpu)
    assert crash.value.last_words.split()[-1] == str(cpu)
    assert run.default_cpu(shell(LINE)) == cpu and run.default_cpu(shell(LINE, threads=2)) is None


def test_a_cpu_that_is_not_there_is_an_error():
    with pytest.raises(CrashError, match="cannot be started"):
        run.run_once(shell(LINE), GLIBC, cpu=1023)


def test_a_broken_compiler_is_said(monkeypatch, tmp_path):
    source = tmp_path / "child.c"
    source.write_text("int main(void) { return 0; }")
    monkeypatch.setenv("CC", str(tmp_path / "no-compiler"))
    with pytest.raises(LabError, match="compiler"):
        run._compile(source, tmp_path / "child")
    monkeypatch.setenv("CC", "false")
    with pytest.raises(LabError, match="does not compile"):
        run._compile(source, tmp_path / "child")


def test_strace_tables_are_read():
    table = """% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 52.00    0.000104           5        19           mmap
 48.00    0.000096          32         3         2 openat
------ ----------- ----------- --------- --------- ----------------
100.00    0.000200           9        22         2 total
"""
    assert dict((name, int(calls)) for calls, name in run.STRACE_ROW.findall(table)) == {
        "mmap": 19,
        "openat": 3,
        "total": 22,
    }


def works(*command: str) -> bool:
    return bool(shutil.which(command[0])) and subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.skipif(not works("strace", "-f", "-c", "-o", "/dev/null", "true"), reason="strace does not run here")
def test_system_calls_are_counted_by_name():
    found = run.syscalls(
        Workload("w", "?", [sys.executable, "-S", "-c", "import os\nfor i in range(500): os.getppid()"]), GLIBC
    )
    assert found["getppid"] == 500 and found["execve"] == 1 and "total" not in found


@pytest.mark.skipif(
    not works("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "true"),
    reason="valgrind does not run here",
)
def test_instructions_grow_with_the_work():
    def count(turns: int) -> int:
        return run.instructions(shell(f"i=0; while [ $i -lt {turns} ]; do i=$((i+1)); done"), GLIBC)

    assert count(3000) - count(2000) == pytest.approx(count(2000) - count(1000), rel=0.05)


def test_the_machine_is_described():
    machine = Machine.read()
    assert machine.cores >= 1 and machine.kernel and machine.cpu and machine.date.endswith("+00:00")
