"""One run of one workload on one allocator: a clean environment, exact costs, and the last words of a crash.

The command is started by lab/native/child.c, which pins it, times it and reports the wait4() usage of that command
alone (and of the children it waited for). User and system time are those of the kernel's scheduler, to the
microsecond; peak memory is the driver's own `[RSS] peak_kb=` line where there is one, else ru_maxrss of a process
that began with a few pages.

A measured process inherits nothing: it gets PATH, HOME and LC_ALL=C, the allocator's library in LD_PRELOAD, then the
options of the workload, of the allocator and of the caller, in this order. No HAKMEM_*, MALLOC*, MIMALLOC_* or
LD_PRELOAD of the shell reaches it.

`syscalls` and `instructions` count from outside and slow the command down by a factor (strace: 2 to 100, by the number
of system calls; callgrind: about 50). Their times mean nothing, so they are runs of their own.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from lab import once
from lab.errors import CrashError, LabError
from lab.model import Allocator, Sample, Workload

ROOT = Path(__file__).resolve().parents[1]
THROUGHPUT = re.compile(r"^Throughput = (\d+(?:\.\d+)?) ops/s", re.M)
EPOCH_RSS = re.compile(r"^\[EPOCH\] .* rss_kb=(\d+)$", re.M)
PEAK = re.compile(r"^\[RSS\] peak_kb=(\d+)$", re.M)
COLLECTED = re.compile(r"Collected\s*:\s*(\d+)")
STRACE_ROW = re.compile(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$", re.M)
LAST_WORDS = 400
REPORTED = 11  # words of child.c's line


def child_program() -> Path:
    """build/lab/child, built when it is not there or older than its source."""
    source = Path(__file__).parent / "native/child.c"
    program = ROOT / "build/lab/child"
    return once.made(program, lambda: once.is_newer(program, [source]), lambda: _compile(source, program))


def _compile(source: Path, program: Path) -> None:
    unfinished = program.with_suffix(".new")
    command = [os.environ.get("CC", "cc"), "-O2", "-static", "-o", str(unfinished), str(source)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except OSError as error:
        raise LabError(f"no C compiler: {error}", "install gcc and libc6-dev") from None
    if done.returncode != 0:
        raise LabError(
            f"{source.name} does not compile: {done.stderr.strip()[-LAST_WORDS:]}", "install gcc and libc6-dev"
        )
    unfinished.replace(program)


def environment(workload: Workload, allocator: Allocator, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The whole environment of a measured process."""
    values = {"PATH": os.environ.get("PATH", os.defpath), "HOME": os.environ.get("HOME", "/"), "LC_ALL": "C"}
    if allocator.path:
        values["LD_PRELOAD"] = allocator.path
    return values | workload.env | allocator.env | dict(extra or {})


def run_once(
    workload: Workload,
    allocator: Allocator,
    *,
    cpu: int | None = None,
    timeout: float = 300.0,
    env_extra: Mapping[str, str] | None = None,
    order: int = 0,
    machine: bool = True,
) -> Sample:
    """Runs the workload once, pinned to `cpu` if one is given; `timeout` is in seconds. `machine`: with what lab/sharing.py wants to know
    of the core, or, of several threads, lab/distance.py of two cores; that takes 2 to 4 ms, up to 40 where others are busy.

    Raises CrashError when the command cannot be started, ends badly, takes too long, or does not print the line that
    its unit asks for. Ctrl-C ends the command and passes.
    """
    started = time.time()
    asked = machine and (cpu is not None or workload.threads > 1)
    report, out, err = _measured(workload.command, environment(workload, allocator, env_extra), cpu, timeout, asked)
    what = f"{workload.name} on {allocator.name}"
    if report is None:
        raise CrashError(f"{what} took longer than {timeout:.0f} s", err[-LAST_WORDS:])
    words = report.split()
    if len(words) != REPORTED:
        reason = os.strerror(int(words[1])) if len(words) == 2 else "the starter died"
        raise CrashError(f"{what} cannot be started: {reason}", err[-LAST_WORDS:])
    status, wall, user, system, peak, minor, major, voluntary, involuntary, before, after = map(int, words)
    if status != 0:
        raise CrashError(f"{what} {_ending(status)}", (err or out)[-LAST_WORDS:])
    wall_s = wall / 1e9
    own_peak, rss = PEAK.findall(err + out), EPOCH_RSS.findall(out)
    return Sample(
        value=wall_s if workload.unit == "s" else _throughput(what, out),
        wall_s=wall_s,
        user_s=user / 1e6,
        system_s=system / 1e6,
        peak_rss_kb=int(own_peak[-1]) if own_peak else peak,
        current_rss_kb=int(rss[-1]) if rss else 0,
        minor_faults=minor,
        major_faults=major,
        voluntary=voluntary,
        involuntary=involuntary,
        order=order,
        started=started,
        extra=({"cpu": cpu} if cpu is not None else {}) | _of_machine(cpu, before, after),
    )


def _of_machine(cpu: int | None, before: int, after: int) -> dict[str, tuple[float, float]]:
    if not before and not after:
        return {}
    return {"distance": (before, after)} if cpu is None else {"sharing": (before / 1e3, after / 1e3)}


def _measured(
    command: Sequence[str], env: Mapping[str, str], cpu: int | None, timeout: float, machine: bool = False
) -> tuple[str | None, str, str]:
    """(what child.c reported, standard output, standard error); None for the report when the time was up."""
    with tempfile.TemporaryFile("w+") as report:
        starter = subprocess.Popen(
            [str(child_program()), str(report.fileno()), str(-1 if cpu is None else cpu), str(int(machine)), *command],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            pass_fds=[report.fileno()],
            start_new_session=True,
        )
        late = False
        try:
            out, err = starter.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            late = True
            _end(starter)
            out, err = starter.communicate()
        except BaseException:
            _end(starter)
            starter.communicate()
            raise
        report.seek(0)
        return None if late else report.read(), out, err


def _end(starter: subprocess.Popen[str]) -> None:
    """Kills the starter and its command: they are a session of their own."""
    try:
        os.killpg(starter.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _ending(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"was killed by signal {number} ({signal.strsignal(number)})"
    return f"ended with exit status {os.WEXITSTATUS(status)}"


def _throughput(what: str, out: str) -> float:
    found = THROUGHPUT.findall(out)
    if not found:
        raise CrashError(f"{what} printed no `Throughput = N ops/s` line", out[-LAST_WORDS:])
    return float(found[-1])


def default_cpu(workload: Workload) -> int | None:
    """The CPU to pin a workload of one thread to: the last one allowed. None for workloads of several threads."""
    return max(os.sched_getaffinity(0)) if workload.threads == 1 else None


def syscalls(workload: Workload, allocator: Allocator, *, timeout: float = 600.0) -> dict[str, int]:
    """System calls of one run by name, counted by `strace -f -c`, with those of loading and starting the program."""
    tool = _tool("strace")
    with tempfile.NamedTemporaryFile("r") as table:
        env = environment(workload, allocator)
        asked = [word for name, value in env.items() for word in ("-E", f"{name}={value}")]
        _outside(
            [tool, "-f", "-c", "-o", table.name, *asked, *workload.command], {"PATH": env["PATH"]}, timeout, "strace"
        )
        rows = STRACE_ROW.findall(table.read())
    return {name: int(calls) for calls, name in rows if name != "total"}


def instructions(workload: Workload, allocator: Allocator, *, timeout: float = 1800.0) -> int:
    """Instructions of one run by callgrind, start-up included. The machine's load does not change it."""
    command = [_tool("valgrind"), "--tool=callgrind", "--callgrind-out-file=/dev/null", *workload.command]
    found = COLLECTED.search(_outside(command, environment(workload, allocator), timeout, "callgrind"))
    if not found:
        raise LabError(f"callgrind did not count {workload.name} on {allocator.name}", "does valgrind run here?")
    return int(found.group(1))


def _tool(name: str) -> str:
    path = shutil.which(name)
    if not path:
        raise LabError(f"{name} is needed", f"install the Debian package {name}")
    return path


def _outside(command: Sequence[str], env: Mapping[str, str], timeout: float, tool: str) -> str:
    """Standard error of a command that runs under a counting tool."""
    report, out, err = _measured(command, env, None, timeout)
    words = (report or "").split()
    if len(words) != REPORTED or words[0] != "0":
        raise CrashError(f"the command failed under {tool}", (err or out)[-LAST_WORDS:])
    return err
