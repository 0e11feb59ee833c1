"""Memory and CPU time in random programs: how do allocators compare where nobody has chosen the program?

bench/scenario/scenario.c makes a program of each number: its blocks, their lengths and orders, its phases and threads;
exchange.c one of two to four threads that free each other's blocks; application.c one that allocates as a kind of application does: a store, a cache, a
compiler, ... Each allocator, glibc's beside those that are named,
runs each of them once, in random order; the peak is that of the program itself (VmHWM). For each allocator, geometric means
over all of them: of what it held and took, as a share of glibc's; of what it held as a share of the least that another one
did; and how often that was more than 1.10, and the worst, and its number (`build/bench/scenario NUMBER describe` says what
it does). Times are those of single runs: of many their mean says something, one says nothing.

Variables: PROGRAM (scenario), exchange or application; FIRST (1), the first number; COUNT (200), how many; SEED (1), of the order.
Arguments: libraries to preload, see allocators.py; without any: hakmem, and the peers that are built.
"""

import os
import random
import statistics
import subprocess
import sys

from allocators import libraries
from output import Progress, table, until_interrupted
from settings import BENCH, clean_environment, number, refuse

PROGRAMS = ("scenario", "exchange", "application")
GLIBC = "glibc"
LEAST_MS = 1  # a shorter run says nothing of time
TENTH = 1.10


def chosen():
    """The program that is to be run."""
    name = os.environ.get("PROGRAM") or PROGRAMS[0]
    if name not in PROGRAMS:
        refuse(f"PROGRAM must be {', '.join(PROGRAMS[:-1])} or {PROGRAMS[-1]}, not '{name}'")
    program = BENCH / name
    if not os.access(program, os.X_OK):
        refuse(f"no program at {program} (scripts/build_bench.sh suite builds it)")
    return program


def measured(program, library, which):
    """KiB at the peak and seconds of CPU time; None when the program fails."""
    environment = clean_environment(LD_PRELOAD=library)
    done = subprocess.run([program, str(which)], env=environment, capture_output=True, text=True)
    words = done.stdout.split()
    return (int(words[0]), float(words[2])) if done.returncode == 0 and len(words) == 3 else None


def mean(ratios):
    return f"{statistics.geometric_mean(ratios):.3f}" if ratios else "-"


def row(label, found):
    """`found`: of each scenario what each allocator held and took, by label."""
    both = {which: runs for which, runs in found.items() if runs.get(label) and runs.get(GLIBC)}
    held = [runs[label][0] / runs[GLIBC][0] for runs in both.values()]
    took = [runs[label][1] / runs[GLIBC][1] for runs in both.values() if runs[GLIBC][1] * 1000 >= LEAST_MS]
    least = {
        which: runs[label][0] / min(others)
        for which, runs in both.items()
        if (others := [run[0] for other, run in runs.items() if other != label and run])
    }
    worst = max(least, key=least.get, default=None)
    beyond = sum(ratio > TENTH for ratio in least.values())
    told = f"{least[worst]:.2f} ({worst})" if least else "-"
    return [label, len(both), mean(held), mean(took), mean(list(least.values())), beyond, told]


def main():
    program = chosen()
    allocators, progress = libraries(sys.argv[1:], "a scenario"), Progress()
    first, count = number("FIRST", 1, 0), number("COUNT", 200)
    order = random.Random(number("SEED", 1, 0))
    sides = {GLIBC: None, **{allocator.label: allocator.preload for allocator in allocators}}
    found = {}
    try:
        for which in range(first, first + count):
            progress.say(f"{program.name} {which} of {first + count - 1}")
            labels = order.sample(list(sides), len(sides))
            found[which] = {label: measured(program, sides[label], which) for label in labels}
    finally:
        progress.clear()
        print(f"{len(found)} {program.name}s, from {first} on; geometric means")
        titles = ["allocator", "ran", "memory of glibc's", "time of glibc's", "memory of the least other", "beyond 1.10", "worst"]
        table(titles, [row(label, found) for label in sides])
    return 0 if all(all(runs.values()) for runs in found.values()) else 1


if __name__ == "__main__":
    until_interrupted(main)
