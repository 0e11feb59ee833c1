"""Interleaved comparison of two or more allocators on the mixed workload: ratios to the last one named.

Each round runs every allocator once, in a random order, so that a machine that slows down slows all of them. A
round gives one ratio per allocator; the verdict is the median of the ratios with a bootstrap 95 % interval. A round
cut by Ctrl-C is dropped, the finished ones are reported.

Variables: RUNS (rounds, 10), ITERS (20000000), WS (a list: 400 4000 100000 1000000), SEED (1), PIN (a CPU, or off).
Arguments: allocators, see allocators.py; without any: hakmem_minimal against mi.
"""

import os
import random
import statistics
import sys

from allocators import RunFailed, named
from output import Progress, millions, table, until_interrupted
from settings import number, numbers, pin, refuse

from lab.steadiness import Spread, percentile

FEWEST_ROUNDS = 6  # as of blocks in lab/statistics.py: fewer have no interval of 95 %, even if all agree
BARS = {400: 1.00, 4000: 1.15, 100000: 1.60}


def measure(allocators, working_set, rounds, iterations, progress):
    """Throughputs of every finished round, and whether Ctrl-C ended them early."""
    order, finished = random.Random(working_set), []
    seed = number("SEED", 1, lowest=0)
    try:
        for i in range(rounds):
            figures = {}
            for allocator in order.sample(allocators, len(allocators)):
                progress.say(f"WS={working_set} round {i + 1}/{rounds} {allocator.label}")
                figures[allocator.label] = allocator.throughput(iterations, working_set, seed)
            finished.append(figures)
    except KeyboardInterrupt:
        return finished, True
    finally:
        progress.clear()
    return finished, False


def bootstrap_interval(values, confidence=95, draws=4000, seed=1):
    """The interval of the median: its percentiles over samples drawn again with replacement.

    The lab has SciPy's (lab/statistics.py); this one is for machines without it.
    """
    source = random.Random(seed)
    medians = [statistics.median(source.choices(values, k=len(values))) for _ in range(draws)]
    tail = (100 - confidence) / 2
    return percentile(medians, tail), percentile(medians, 100 - tail)


def report(allocators, working_set, rounds, bars):
    reference = allocators[-1].label
    print(f"\nWS={working_set}, {len(rounds)} rounds, M ops/s")
    rows = []
    for allocator in allocators:
        s = Spread.of([figures[allocator.label] for figures in rounds])
        row = [allocator.label] + [millions(value) for value in (s.mean, s.median, s.min, s.max, s.stddev)]
        rows.append(row + [f"{s.cv:.2f}%"])
    table(["allocator", "mean", "median", "min", "max", "stddev", "CV"], rows)
    for allocator in allocators[:-1]:
        ratios = [figures[allocator.label] / figures[reference] for figures in rounds]
        line = f"ratio {allocator.label}/{reference} = {statistics.median(ratios):.3f}  {interval_of(ratios)}"
        bar = bars.get(working_set) if allocator.label.startswith("hakmem") else None
        print(line + (f"  bar {bar:.2f}: {against(bar, ratios)}" if bar else ""))
    sys.stdout.flush()


def interval_of(ratios):
    if len(ratios) < FEWEST_ROUNDS:
        return "[one round]" if len(ratios) == 1 else f"[{len(ratios)} rounds]"
    low, high = bootstrap_interval(ratios)
    return f"[{low:.3f} .. {high:.3f}] 95 %"


def against(bar, ratios):
    if len(ratios) < FEWEST_ROUNDS:
        return f"too little to tell, at least {FEWEST_ROUNDS} rounds are needed"
    return "reached" if statistics.median(ratios) >= bar else "missed"


def main():
    allocators = named(sys.argv[1:], ["hakmem_minimal", "mi"])
    if len({allocator.label for allocator in allocators}) < 2:
        refuse("two different allocators are needed (scripts/get_mimalloc.sh and scripts/build_bench.sh make mi)")
    rounds, iterations = number("RUNS", 10), number("ITERS", 20000000)
    cpu, progress = pin(), Progress()
    versions = [f"{a.label} {a.version()}".strip() for a in allocators]
    print(f"{', '.join(versions)}; ITERS={iterations}, {'not pinned' if cpu is None else f'pinned to CPU {cpu}'}")
    official = os.environ.get("BENCH_WORKLOAD", "mixed") == "mixed" and allocators[-1].label == "mi"
    for working_set in numbers("WS", "400 4000 100000 1000000"):
        try:
            finished, stopped = measure(allocators, working_set, rounds, iterations, progress)
        except RunFailed as failure:
            print(failure, file=sys.stderr)
            return 1
        if finished:
            report(allocators, working_set, finished, BARS if official else {})
        if stopped:
            raise KeyboardInterrupt
    return 0


if __name__ == "__main__":
    until_interrupted(main)
