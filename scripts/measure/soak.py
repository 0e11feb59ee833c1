"""Long runs of the mixed workload as CSV on stdout (lab/csvs.py), a line as soon as it is known.

`soak.py steps`   one process per step. Variables: BENCH_BIN, DURATION_SEC (300), STEP_ITERS (20000000), WS (400).
`soak.py single`  one process, epochs of about EPOCH_SEC seconds (a short run before it finds how many operations
                  that is). Variables: BENCH_BIN, DURATION_SEC (300), EPOCH_SEC (5), WS (400), HAKMEM_PROFILE.

The run ends with the first step or epoch that ends after DURATION_SEC. `hakmem soak` does the same for several
allocators in turn, with plots.
"""

import contextlib
import os
import sys

import allocators
from output import Progress, until_interrupted
from settings import clean_environment, no_arguments, number, refuse

from lab import csvs, model
from lab.errors import CrashError
from lab.soak import sources
from lab.soak.rounds import rounds


def soak(kind, duration, working_set):
    """Prints the CSV; raises CrashError when the driver does not end well."""
    chosen = allocators.Allocator(os.environ.get("BENCH_BIN") or "hakmem")
    side = model.Allocator(chosen.label, chosen.preload, "", "", chosen.label)
    profile = os.environ.get("HAKMEM_PROFILE") or None
    asked = clean_environment(HAKMEM_PROFILE=profile, HAKMEM_STRICT=1 if profile else None)  # a wrong name is not ignored

    def mixed(iterations):
        return sources.mixed(chosen.driver, iterations, working_set, 1, asked)

    if kind == "steps":
        length = number("STEP_ITERS", 20000000)
    else:
        length = sources.epoch_length(mixed(1), [side], number("EPOCH_SEC", 5, lowest=0.001, kind=float))
    source = sources.MODELS[kind](mixed(length), side, timeout_s=max(600, 20 * duration))
    writer, progress = csvs.Writer(sys.stdout, source.ROW), Progress()
    with contextlib.closing(rounds({chosen.label: source}, duration)) as taken:
        for number_of_epoch, (_, row) in enumerate(taken, 1):
            progress.clear()
            if isinstance(row, CrashError):
                raise row
            writer.row(row)
            progress.say(f"epoch {number_of_epoch}, {duration:g} s in all")
    progress.clear()


def main():
    no_arguments(after=1)
    if len(sys.argv) != 2 or sys.argv[1] not in sources.MODELS:
        refuse("one argument: steps or single")
    duration = number("DURATION_SEC", 300, lowest=0.001, kind=float)
    try:
        soak(sys.argv[1], duration, number("WS", 400))
    except CrashError as crash:
        print(crash.text(), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    until_interrupted(main)
