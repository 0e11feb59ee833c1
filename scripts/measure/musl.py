"""Speed and peak memory of programs that are linked with musl: how do hakmem and others compare with musl's own malloc?

The programs of the suite in C (bench/suite), linked with musl, each with the operations it has by itself: of ROUNDS rounds each runs every
allocator once, in random order. For each row the median of what a round's throughputs are as multiples of musl's own, and of the peaks
(VmHWM); then geometric means over the rows. Throughput is by the wall clock, and of a few rounds on a noisy machine: multiples like 1.05 say
nothing here. On two cores three minutes, most of which musl's own malloc takes.

Variables: ROUNDS (5); SEED (1), of the order; ROWS, names of the suite's programs, all without.
Arguments: libraries that are built for musl, beside build/musl/libhakmem-musl.so, [LABEL=]PATH.
"""

import os
import random
import re
import statistics
import subprocess
import sys
from pathlib import Path

from allocators import THROUGHPUT
from output import Progress, table, until_interrupted
from settings import ROOT, clean_environment, number, refuse

from lab.run import PEAK

MUSL, PREFIX = "musl", "suite_"
BUILT = ROOT / "build/musl"


def others():
    """The libraries of the command line, by label."""
    found = {}
    for word in sys.argv[1:]:
        label, equals, path = word.partition("=")
        path = path if equals else word
        if not os.path.isfile(path):
            refuse(f"no such library: {path}")
        found[label if equals else re.sub(r"\.so.*$", "", Path(path).name)] = os.path.abspath(path)
    return found


def chosen():
    """The programs that are to be run, by row."""
    built = {path.name.removeprefix(PREFIX): path for path in sorted((BUILT / "suite").glob(f"{PREFIX}*"))}
    names = os.environ.get("ROWS", "").replace(",", " ").split() or list(built)
    for name in names:
        if name not in built:
            refuse(f"ROWS: there is no '{name}'; there are {', '.join(built) or 'none: run scripts/musl.sh'}")
    return {name: built[name] for name in names}


def measured(program, library):
    """Operations a second and KiB at the peak; None when the program fails."""
    environment = clean_environment(LD_PRELOAD=library, BENCH_RSS=1)
    done = subprocess.run([program], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    speed, peak = THROUGHPUT.search(done.stdout), PEAK.search(done.stderr)
    return (int(speed.group(1)), int(peak.group(1))) if done.returncode == 0 and speed and peak else None


def multiple(rounds, label, which):
    """The median over rounds of what the allocator has as a multiple of what musl's own has; None when it failed."""
    ratios = [runs[label][which] / runs[MUSL][which] for runs in rounds if runs[label] and runs[MUSL]]
    return statistics.median(ratios) if len(ratios) == len(rounds) else None


def shown(value):
    return "failed" if value is None else f"{value:.2f}"


def mean(values):
    return shown(statistics.geometric_mean(values)) if all(values) else "failed"


def main():
    sides = {MUSL: None, "hakmem": str(BUILT / "libhakmem-musl.so"), **others()}
    programs, progress, rounds = chosen(), Progress(), number("ROUNDS", 5)
    order = random.Random(number("SEED", 1, 0))
    found = {}
    try:
        for row, program in programs.items():
            runs = []
            for turn in range(rounds):
                progress.say(f"{row}, round {turn + 1} of {rounds}")
                runs.append({label: measured(program, sides[label]) for label in order.sample(list(sides), len(sides))})
            found[row] = runs
    finally:
        progress.clear()
        labels = list(sides)[1:]
        titles = ["workload", *(f"{label}: speed" for label in labels), *(f"{label}: peak" for label in labels)]
        both = {row: [multiple(runs, label, which) for which in (0, 1) for label in labels] for row, runs in found.items()}
        lines = [[row, *map(shown, values)] for row, values in both.items()]
        if both:
            lines.append(["geometric mean", *map(mean, zip(*both.values(), strict=True))])
        print(f"multiples of musl's own malloc, medians of {rounds} rounds")
        table(titles, lines)
    return 0 if all(None not in values for values in both.values()) else 1


if __name__ == "__main__":
    until_interrupted(main)
