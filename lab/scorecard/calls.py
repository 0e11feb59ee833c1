"""Section 2, system calls: how often an allocator asks the kernel for memory, at first and after it has warmed up.

strace writes the memory system calls of the mixed workload down in order, together with the driver's own writes. The
driver runs in 100 epochs, so its first [EPOCH] line marks the first 1 % and its last line the end: what happens while
the process exits is not counted. The loader's own calls are taken off: those of the same program with an empty loop
(BENCH_EMPTY=1) and an empty library preloaded (nothing preloaded for glibc); libraries that an allocator brings with it
count as its own. With the kernel's own filter (--seccomp-bpf) the other system calls do not stop the process.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from lab import lineup, programs, run
from lab.errors import CrashError, LabError
from lab.model import Allocator, Workload
from lab.scorecard.card import Calls, CallsRow
from lab.scorecard.setting import Setting, Timer
from lab.soak import sources

MEMORY = ("mmap", "munmap", "mremap", "madvise", "brk", "mprotect")
OPERATIONS = 200_000_000
SHORT_OPERATIONS = 20_000_000
PESSIMIST_OPS_S = 40e6
MOST_OVERRUN = 2.0
WORKING_SET = 400
EPOCHS = 100

Counts = tuple[Counter[str], Counter[str]]


def measure(calls: Calls, setting: Setting, seconds: float) -> str:
    """Fills `calls`. Fewer operations than the contract's when the time is too short for them. Needs strace."""
    timer = Timer(seconds, setting.clock)
    strace = shutil.which("strace")
    if not strace:
        raise LabError("strace is not here", "install the Debian package strace")
    options = strace_options(strace)
    share = seconds / len(setting.allocators)
    calls.operations = OPERATIONS if share * PESSIMIST_OPS_S >= OPERATIONS else SHORT_OPERATIONS
    calls.working_set = WORKING_SET
    env = {"HAKMEM_BENCH_EPOCH_ITERS": str(max(1, calls.operations // EPOCHS))}
    workload = sources.mixed(lineup.program(programs.MIXED), calls.operations, WORKING_SET, 1, env)
    setting.prove(workload)
    command, timeout = [strace, *options], max(120.0, 10 * seconds)
    with_library, without = (loader(workload, path, command, timeout) for path in (empty_library(), None))
    calls.loader = dict(with_library)
    for allocator in setting.allocators:
        if timer.spent > MOST_OVERRUN * seconds and calls.rows:
            calls.failures[allocator.name] = "the time was up"
            continue
        setting.tell(f"system calls: {allocator.name}")
        try:
            first, after = traced(workload, allocator, command, timeout)
        except CrashError as error:
            calls.failures[allocator.name] = error.message
        else:
            first -= with_library if allocator.path else without
            calls.rows.append(CallsRow(allocator.name, first.total(), after.total(), dict(first + after)))
    if calls.operations < OPERATIONS:
        return f"the time was short: {calls.operations:,} operations in place of {OPERATIONS:,}"
    return ""


def strace_options(strace: str) -> list[str]:
    """With the kernel's filter where strace and the kernel have it. Raises LabError when nothing may be traced."""
    last_words = ""
    for options in (["-f", "--seccomp-bpf"], ["-f"]):
        command = [strace, *options, "-e", "trace=mmap", "-o", "/dev/null", "true"]
        probe = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
        if probe.returncode == 0:
            return options
        last_words = probe.stderr.strip()[-200:]
    raise LabError(f"strace may not trace here: {last_words}", "allow ptrace (in a container: --cap-add SYS_PTRACE)")


def empty_library() -> str:
    """build/lab/empty.so, a library with nothing in it. Raises LabError when it cannot be compiled."""
    path = run.ROOT / "build/lab/empty.so"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")
        command = [os.environ.get("CC") or "cc", "-shared", "-o", str(unfinished), "-x", "c", "/dev/null"]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
        except OSError as error:
            raise LabError(f"no C compiler: {error}", "install gcc and libc6-dev") from None
        if done.returncode != 0:
            raise LabError(f"an empty library does not compile: {done.stderr[-300:]}", "install gcc and libc6-dev")
        unfinished.replace(path)
    return str(path)


def loader(workload: Workload, library: str | None, strace: list[str], timeout: float) -> Counter[str]:
    """The calls of the program itself when its loop allocates nothing, with the library preloaded."""
    empty = replace(workload, env=workload.env | {"BENCH_EMPTY": "1"})
    first, after = traced(empty, Allocator("nothing", library, "", "", "nothing"), strace, timeout)
    return first + after


def traced(workload: Workload, allocator: Allocator, strace: list[str], timeout: float) -> Counts:
    """Calls of one run before and after its first epoch. Raises CrashError when it ends badly or marks are missing."""
    env = run.environment(workload, allocator)
    # strace itself runs without the preload: only the traced program gets the environment.
    asked = [word for name, value in env.items() for word in ("-E", f"{name}={value}")]
    what = f"the mixed workload on {allocator.name} under strace"
    with tempfile.NamedTemporaryFile("r", errors="replace") as trace:
        command = [*strace, "-e", f"trace={','.join(MEMORY)},write", "-o", trace.name, *asked, *workload.command]
        try:
            done = subprocess.run(
                command,
                env={"PATH": env["PATH"]},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout,
            )
        except subprocess.TimeoutExpired:
            raise CrashError(f"{what} took longer than {timeout:.0f} s") from None
        counted = count(trace)
    if done.returncode != 0 or counted is None:
        raise CrashError(f"{what} ended badly", done.stderr[-run.LAST_WORDS :])
    return counted


def count(lines: Iterable[str]) -> Counts | None:
    """(calls before the first epoch's line, calls after it) from strace's lines; None when a mark is missing."""
    first: Counter[str] = Counter()
    after: Counter[str] = Counter()
    epochs, ended = 0, False
    for line in lines:
        call = line.split(maxsplit=1)[-1]
        name = call.partition("(")[0]
        if call.startswith("write(1, "):
            epochs += '"[EPOCH] ' in call
            ended = ended or '"Throughput' in call
        elif not ended and name in MEMORY:
            (after if epochs else first)[name] += 1
    return (first, after) if ended and epochs else None
