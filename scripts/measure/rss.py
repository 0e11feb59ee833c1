"""Peak RSS of a whole run of the mixed workload for each allocator, in MB of 1024 * 1024 bytes.

It is VmHWM of the driver itself, so neither the shell nor Python is in it; the kernel's counters lag by up to a
few dozen pages, hence the median and the largest of RUNS runs.

Variables: ITERS (20000000), WS (400), RUNS (5). Arguments: allocators, see allocators.py; without any: all.
"""

import sys

from allocators import RunFailed, everything, named
from output import Progress, table, until_interrupted
from settings import number

from lab.steadiness import Spread


def main():
    allocators = named(sys.argv[1:], everything())
    iterations, working_set, runs, progress = number("ITERS", 20000000), number("WS", 400), number("RUNS", 5), Progress()
    rows = []
    for allocator in allocators:
        progress.say(allocator.label)
        try:
            peaks = Spread.of([allocator.peak_kb(iterations, working_set) / 1024 for _ in range(runs)])
            rows.append([allocator.label, f"{peaks.median:.2f}", f"{peaks.max:.2f}"])
        except RunFailed as failure:
            rows.append([allocator.label, "failed", str(failure)])
    progress.clear()
    print(f"peak RSS in MB, ITERS={iterations} WS={working_set}, {runs} runs")
    table(["allocator", "median", "max"], rows)
    return 0


if __name__ == "__main__":
    until_interrupted(main)
