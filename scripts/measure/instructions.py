"""Instructions per operation of the mixed workload, without the driver's own, for any allocator.

callgrind counts a run of ITERS and one of 2 * ITERS operations: their difference has neither start-up nor exit in it.
The same with BENCH_EMPTY=1 (the loop without the allocator) is taken off. The figures do not depend on the
machine's load. Run it on an allocator as often as wanted: it prints the same numbers.

Variables: ITERS (1000000), WS (400), SEED (1). Arguments: allocators, see allocators.py; without any: all.
"""

import sys

import valgrind
from allocators import Allocator, everything, named, needed
from output import Progress, table, until_interrupted
from settings import number, refuse

from lab.run import COLLECTED


def collected(allocator, iterations, working_set, empty):
    """Instructions of a whole run; None when the allocator does not run under valgrind."""
    said = valgrind.said(["--tool=callgrind", "--callgrind-out-file=/dev/null"], allocator, iterations, working_set, empty)
    found = said and COLLECTED.search(said)
    return int(found.group(1)) if found else None


def per_operation(allocator, iterations, working_set, empty=False):
    short = collected(allocator, iterations, working_set, empty)
    long = collected(allocator, 2 * iterations, working_set, empty)
    return None if short is None or long is None else (long - short) / iterations


def main():
    needed("valgrind", "valgrind")
    allocators = named(sys.argv[1:], everything())
    iterations, working_set, progress = number("ITERS", 1000000), number("WS", 400), Progress()
    progress.say("the loop without an allocator")
    harness = per_operation(Allocator("system"), iterations, working_set, empty=True)
    if harness is None:
        refuse("valgrind does not run here")
    rows = []
    for allocator in allocators:
        progress.say(allocator.label)
        total = per_operation(allocator, iterations, working_set)
        net = "does not run" if total is None else f"{total - harness:.2f}"
        rows.append([allocator.label, "-" if total is None else f"{total:.2f}", net])
    progress.clear()
    print(f"instructions per operation, WS={working_set}, {iterations} operations; the loop itself: {harness:.2f}")
    table(["allocator", "with the loop", "net"], rows)
    return 0


if __name__ == "__main__":
    until_interrupted(main)
