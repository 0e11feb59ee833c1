"""RUNS runs of one driver in a clean environment: each run's line, then mean, median, min, max, stddev, CV.

Variables: ITERS (20000000), WS (400), RUNS (10), BENCH_BIN (build/bench/bench_random_mixed_hakmem).
"""

import os
import sys

from allocators import THROUGHPUT, Allocator, RunFailed
from output import Progress, until_interrupted
from settings import no_arguments, number, pin

from lab.steadiness import Spread


def main():
    no_arguments()
    iterations, working_set, runs = number("ITERS", 20000000), number("WS", 400), number("RUNS", 10)
    allocator, progress, figures = Allocator(os.environ.get("BENCH_BIN") or "hakmem"), Progress(), []
    pin()
    try:
        for i in range(runs):
            progress.say(f"run {i + 1}/{runs}")
            line = THROUGHPUT.search(allocator.run(iterations, working_set).stdout)
            progress.clear()
            print(f"run {i + 1}: {line.group(0)}", flush=True)
            figures.append(int(line.group(1)))
    except RunFailed as failure:
        print(failure, file=sys.stderr)
        return 1
    finally:
        if figures:
            s = Spread.of(figures)
            print(f"mean={s.mean:.0f} median={s.median:.0f} min={s.min} max={s.max} stddev={s.stddev:.0f} CV={s.cv:.2f}%")
    return 0


if __name__ == "__main__":
    until_interrupted(main)
