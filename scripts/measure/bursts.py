"""Instructions of a block of a burst: its malloc, its free, and the loop around them.

WS blocks of 64 bytes are all allocated, then all freed: the last first, the first first, or in random order
(bench/suite/burst.c; shuffling is the loop's). callgrind counts a run of ITERS and one of 2 * ITERS blocks: their
difference has neither start-up nor exit in it. The figures do not depend on the machine's load.

Variables: ITERS (1000000), WS (1000000), SEED (1). Arguments: libraries to preload, see allocators.py; without any:
hakmem, and the peers that are built.
"""

import os
import sys

from allocators import libraries, needed
from instructions import per_operation
from output import Progress, table, until_interrupted
from settings import BENCH, number, refuse

ORDERS = {"last first": "burst_lifo", "first first": "burst_fifo", "random": "burst_random"}


def per_block(allocator, order, iterations, working_set):
    allocator.driver = str(BENCH / f"suite_{ORDERS[order]}")
    if not os.access(allocator.driver, os.X_OK):
        refuse(f"no program at {allocator.driver} (scripts/build_bench.sh suite builds it)")
    count = per_operation(allocator, iterations, working_set)
    return "does not run" if count is None else f"{count:.1f}"


def main():
    needed("valgrind", "valgrind")
    allocators, progress = libraries(sys.argv[1:], "a burst"), Progress()
    iterations, working_set = number("ITERS", 1000000), number("WS", 1000000)
    rows = []
    for allocator in allocators:
        progress.say(allocator.label)
        rows.append([allocator.label, *(per_block(allocator, order, iterations, working_set) for order in ORDERS)])
    progress.clear()
    print(f"instructions of a block, the loop's own included, in bursts of {working_set}")
    table(["allocator", *ORDERS], rows)
    return 0


if __name__ == "__main__":
    until_interrupted(main)
