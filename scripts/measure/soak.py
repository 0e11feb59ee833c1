"""Long runs of the mixed workload as CSV on stdout, a line as soon as it is known.

`soak.py steps`   one process per step. Columns epoch_s,elapsed_s,iter,throughput_ops_s,peak_rss_mb: Unix time at
                  the end of the step, seconds since the start, operations of the step.
                  Variables: BENCH_BIN, DURATION_SEC (300), STEP_ITERS (20000000), WS (400).
`soak.py single`  one process, epochs of about EPOCH_SEC seconds (a short run before it finds how many operations
                  that is). Columns epoch,iter,throughput_ops_s,rss_mb.
                  Variables: BENCH_BIN, DURATION_SEC (300), EPOCH_SEC (5), WS (400), HAKMEM_PROFILE.

A megabyte is 1024 * 1024 bytes here. The run ends with the first step or epoch that ends after DURATION_SEC.
"""

import os
import subprocess
import sys
import time

from allocators import EPOCH, PEAK, THROUGHPUT, Allocator, RunFailed
from output import Progress, csv_line, until_interrupted
from settings import number, refuse

CALIBRATION = 2000000


def asked_profile():
    return {"HAKMEM_PROFILE": os.environ.get("HAKMEM_PROFILE") or None}


def steps(allocator, duration, working_set, progress):
    iterations = number("STEP_ITERS", 20000000)
    csv_line("epoch_s", "elapsed_s", "iter", "throughput_ops_s", "peak_rss_mb")
    begin, elapsed = time.monotonic(), 0.0
    while elapsed < duration:
        progress.say(f"{elapsed:.0f}/{duration:g} s")
        done = allocator.run(iterations, working_set, BENCH_RSS=1, **asked_profile())
        elapsed = time.monotonic() - begin
        throughput = THROUGHPUT.search(done.stdout).group(1)
        peak = int(PEAK.search(done.stderr).group(1)) / 1024
        progress.clear()
        csv_line(int(time.time()), f"{elapsed:.3f}", iterations, throughput, f"{peak:.2f}")


def single(allocator, duration, working_set, progress):
    epoch_seconds = number("EPOCH_SEC", 5, lowest=0.001, kind=float)
    speed = allocator.throughput(CALIBRATION, working_set, **asked_profile())
    length = max(1, int(speed * epoch_seconds))
    # More than the duration can use: the process is stopped when the time is over.
    total = length * (int(2 * duration / epoch_seconds) + 2)
    environment = allocator.environment(HAKMEM_BENCH_EPOCH_ITERS=length, **asked_profile())
    csv_line("epoch", "iter", "throughput_ops_s", "rss_mb")
    begin = time.monotonic()
    command = allocator.command(total, working_set)
    with subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as run:
        try:
            for line in run.stdout:
                epoch = EPOCH.match(line.rstrip("\n"))
                if epoch:
                    progress.clear()
                    csv_line(epoch.group(1), epoch.group(3), epoch.group(2), f"{int(epoch.group(6)) / 1024:.2f}")
                elapsed = time.monotonic() - begin
                progress.say(f"{elapsed:.0f}/{duration:g} s")
                if elapsed >= duration:
                    return
            if run.wait() != 0:
                raise RunFailed(f"{allocator.label}: exit status {run.returncode}")
        finally:
            run.kill()
            progress.clear()


def main():
    modes = {"steps": steps, "single": single}
    if len(sys.argv) != 2 or sys.argv[1] not in modes:
        refuse("one argument: steps or single")
    duration = number("DURATION_SEC", 300, lowest=0.001, kind=float)
    allocator = Allocator(os.environ.get("BENCH_BIN") or "hakmem")
    try:
        modes[sys.argv[1]](allocator, duration, number("WS", 400), Progress())
    except RunFailed as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    until_interrupted(main)
