"""Memory system calls of the mixed workload: how many in the first 1 % of the operations, how many after.

strace writes the calls down in order, together with the driver's own writes; the driver runs in 100 epochs, so its
first [EPOCH] line marks the first 1 % and its last line the end (what happens while the process exits is not
counted). Counted are mmap, munmap, mremap, madvise, brk, mprotect.

Variables: ITERS (200000000), WS (400). Arguments: allocators, see allocators.py; without any: all.
"""

import subprocess
import sys
import tempfile

from allocators import everything, named, needed
from output import Progress, table, until_interrupted
from settings import number

MEMORY = "mmap,munmap,mremap,madvise,brk,mprotect"


def strace_options():
    """With the kernel's filter only the calls of interest stop the process; older strace lacks it."""
    options = ["-f", "--seccomp-bpf"]
    probe = subprocess.run(["strace", *options, "-o", "/dev/null", "true"], capture_output=True)
    return options if probe.returncode == 0 else ["-f"]


def count(lines):
    """(calls in the first epoch, calls after it) from strace's lines; None when a mark is missing."""
    first = after = 0
    epochs, ended = 0, False
    for line in lines:
        call = line.split(maxsplit=1)[-1]
        if call.startswith("write(1, "):
            epochs += '"[EPOCH] ' in call
            ended = ended or '"Throughput' in call
        elif not ended and call.split("(")[0] in MEMORY.split(","):
            first, after = (first + 1, after) if epochs == 0 else (first, after + 1)
    return (first, after) if ended and epochs else None


def traced(allocator, iterations, working_set, options):
    with tempfile.NamedTemporaryFile("r", errors="replace") as trace:
        environment = allocator.environment(HAKMEM_BENCH_EPOCH_ITERS=max(1, iterations // 100))
        set_for_program = [word for name in environment for word in ("-E", f"{name}={environment[name]}")]
        command = ["strace", *options, "-e", f"trace={MEMORY},write", "-o", trace.name, *set_for_program]
        # strace itself runs without the preload: only the traced program gets the environment.
        done = subprocess.run(
            command + allocator.command(iterations, working_set),
            env={"PATH": environment["PATH"]},
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
        return count(trace) if done.returncode == 0 else None


def main():
    needed("strace", "strace")
    allocators = named(sys.argv[1:], everything())
    iterations, working_set, progress = number("ITERS", 200000000, lowest=100), number("WS", 400), Progress()
    options, rows = strace_options(), []
    for allocator in allocators:
        progress.say(allocator.label)
        counts = traced(allocator, iterations, working_set, options)
        progress.clear()
        if counts is None:
            rows.append([allocator.label, "not traced", "-", "-"])
        else:
            rows.append([allocator.label, *counts, f"{sum(counts) / iterations:.1e}"])
    print(f"memory system calls, ITERS={iterations} WS={working_set}")
    table(["allocator", "first 1 %", "after", "per operation"], rows)
    return 0


if __name__ == "__main__":
    until_interrupted(main)
