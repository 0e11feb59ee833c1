"""What a soak takes its epochs from: one long process, or a new process for each step.

A long process runs the driver with BENCH_GATE=1: it waits on standard input between two epochs, outside of what it
times, so that several processes can take turns on one CPU. It holds its memory while it waits. The first microseconds
of an epoch refill the caches that the others have used; over an epoch of seconds that is nothing.

A step is one run of lab.run.run_once, whose peak memory is the driver's own `[RSS] peak_kb=` line.
"""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from lab import csvs, run
from lab.errors import CrashError
from lab.model import Allocator, Workload

EPOCH = re.compile(r"^\[EPOCH\] (\d+) Throughput = (\d+) ops/s \[iter=(\d+) ws=\d+\] time=[\d.]+s rss_kb=(\d+)$")
MOST_EPOCHS = 10_000_000
MEGABYTE_KB = 1024
CALIBRATION = 2_000_000
GRACE_S = 60.0  # for a process that has closed its output


class Source(Protocol):
    """Gives one line of a soak's CSV at a time. `next` raises CrashError; `end` may be called twice."""

    def next(self) -> csvs.Row: ...

    def end(self) -> None: ...


def mixed(driver: str, iterations: int, working_set: int, seed: int, env: Mapping[str, str] | None = None) -> Workload:
    """One run of the mixed workload."""
    command = [driver, str(iterations), str(working_set), str(seed)]
    return Workload("mixed", "how fast, and does it stay so?", command, dict(env or {}))


def epoch_length(workload: Workload, allocators: Sequence[Allocator], epoch_s: float, cpu: int | None = None) -> int:
    """Operations that fill about `epoch_s` seconds at the mean speed of the allocators; a short run of each tells."""
    short = replace(workload, command=[workload.command[0], str(CALIBRATION), *workload.command[2:]])
    speeds = [run.run_once(short, allocator, cpu=cpu).value for allocator in allocators]
    return max(1, int(epoch_s * sum(speeds) / len(speeds)))


class LongRun:
    """One process that runs an epoch whenever it is asked to; it starts with the first."""

    ROW = csvs.Epoch

    def __init__(
        self, workload: Workload, allocator: Allocator, cpu: int | None = None, timeout_s: float = 600.0
    ) -> None:
        """`workload` runs epochs of as many operations as its command says; `timeout_s` is for one epoch."""
        length = int(workload.command[1])
        gated = {"HAKMEM_BENCH_EPOCH_ITERS": str(length), "BENCH_GATE": "1"}
        self._command = [workload.command[0], str(length * MOST_EPOCHS), *workload.command[2:]]
        self._env = run.environment(workload, allocator, gated)
        self._name, self._cpu, self._timeout = allocator.name, cpu, timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = b""

    def next(self) -> csvs.Epoch:
        """Lets one epoch pass. Raises CrashError with the process's last words when it ends or takes too long."""
        if not self._process:
            self._start()
        try:
            self._process.stdin.write(b"\n")
        except BrokenPipeError:
            raise self._crash() from None
        while True:
            found = EPOCH.match(self._line())
            if found:
                epoch, speed, iterations, rss_kb = map(int, found.groups())
                return csvs.Epoch(epoch, iterations, speed, rss_kb / MEGABYTE_KB)

    def end(self) -> None:
        """Ends the process, wherever it is."""
        if self._process:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout, self._errors):
                pipe.close()
            self._process = None

    def _start(self) -> None:
        self._errors = tempfile.TemporaryFile()
        try:
            # A session of its own: Ctrl-C is for the lab, which ends the process when it has kept what is measured.
            self._process = subprocess.Popen(
                self._command,
                env=self._env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            self._errors.close()
            raise CrashError(f"the soak of {self._name} cannot be started: {error}") from None
        if self._cpu is not None:
            os.sched_setaffinity(self._process.pid, {self._cpu})

    def _line(self) -> str:
        output = self._process.stdout
        limit = time.monotonic() + self._timeout
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([output], [], [], max(0.0, limit - time.monotonic()))
            if not ready:
                self._process.kill()
                raise self._crash(f"took longer than {self._timeout:.0f} s for an epoch")
            more = os.read(output.fileno(), 65536)
            if not more:
                raise self._crash()
            self._buffer += more
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode(errors="replace")

    def _crash(self, what: str = "") -> CrashError:
        try:
            status = self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        if not what and status < 0:
            what = f"was killed by signal {-status} ({signal.strsignal(-status)})"
        self._errors.seek(0)
        words = self._errors.read().decode(errors="replace")[-run.LAST_WORDS :]
        return CrashError(f"the soak of {self._name} {what or f'ended with exit status {status}'}", words)


class Steps:
    """A new process for each step; the clock of `elapsed_s` starts here."""

    ROW = csvs.Step

    def __init__(
        self,
        workload: Workload,
        allocator: Allocator,
        cpu: int | None = None,
        timeout_s: float = 600.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._workload = replace(workload, env={"BENCH_RSS": "1"} | workload.env)
        self._allocator, self._cpu, self._timeout = allocator, cpu, timeout_s
        self._clock, self._began = clock, clock()

    def next(self) -> csvs.Step:
        """Runs one step to its end."""
        sample = run.run_once(self._workload, self._allocator, cpu=self._cpu, timeout=self._timeout)
        return csvs.Step(
            epoch_s=int(time.time()),
            elapsed_s=self._clock() - self._began,
            iter=int(self._workload.command[1]),
            throughput_ops_s=sample.value,
            peak_rss_mb=sample.peak_rss_kb / MEGABYTE_KB,
        )

    def end(self) -> None:
        """Nothing outlives a step."""


MODELS: dict[str, type[LongRun] | type[Steps]] = {"single": LongRun, "steps": Steps}
