"""One run of the mixed driver under a tool of valgrind, for scripts that count."""

import subprocess

from settings import number


def said(tool, allocator, operations, working_set, empty):
    """What valgrind says at the end (`tool`: its options); None when the allocator does not run under it.

    `empty` runs the loop without the allocator. Variable: SEED (1).
    """
    done = subprocess.run(
        ["valgrind", *tool, *allocator.command(operations, working_set, number("SEED", 1, lowest=0))],
        env=allocator.environment(BENCH_EMPTY=1 if empty else None),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
    )
    return done.stderr if done.returncode == 0 else None
