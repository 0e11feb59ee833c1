"""Proves that random_program finds a broken allocator.

    selftest.py RANDOM_PROGRAM FAULTY_ALLOCATOR

Runs random_program on a deliberately faulty allocator (faulty_allocator.c), once for each fault and each of a few
fixed seeds. Every run must end with status 1, must say what was found in the words that belong to the fault, and must
print the seed that repeats it; the run without a fault must pass. A crash does not count as found. All faults run on one
thread, where nothing depends on chance. Those that need no state shared by threads also run on four, where the place
differs from run to run but the finding does not.

Whatever library is under test is not involved, so one variant is enough.
"""

import os
import re
import subprocess
import sys

SEEDS = (1, 2, 3)
STEPS = "100000"

FOUND = {
    "twice": r"of \d+ bytes at \S+ overlaps the live block",
    "inside": r"of \d+ bytes at \S+ overlaps the live block",
    "scribble": r"has lost its content at offset 16",
    "zero": r"calloc of \d+ bytes at \S+ is not zero at offset \d+",
    "copy": r"after realloc: the block \S+ of \d+ bytes .* has lost its content",
    "align": r"aligned of \d+ bytes at \S+ is not aligned to \d+",
    "usable": r"has only 1 usable bytes|the usable size of \S+ was \d+ and is 1",
    "errno": r"free of \S+ set errno to \d+",
    "huge": r"malloc of \d+ bytes was not refused with ENOMEM",
    "silent": r"malloc of \d+ bytes gave NULL with errno 0",
}
THREADED = ("align", "copy", "usable")


def run(program, library, fault, seed, threads):
    environment = {
        "LD_PRELOAD": library,
        "FAULT": fault,
        "TEST_SEED": str(seed),
        "LC_ALL": "C",
        "PATH": os.environ.get("PATH", ""),
    }
    command = [program, str(threads), STEPS, "1"]
    return subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)


def complaint(result, fault, seed):
    """Why this run does not prove what it should; None when it does."""
    if fault == "none":
        return None if result.returncode == 0 else f"the sound allocator failed: {result.stderr}"
    if result.returncode != 1:
        return f"status {result.returncode}, not 1: {result.stderr}"
    if not re.search(FOUND[fault], result.stderr):
        return f"other words than expected: {result.stderr}"
    if f"TEST_SEED={seed}\n" not in result.stderr:
        return f"the seed is not in the output: {result.stderr}"
    return None


def main():
    program, library = sys.argv[1:3]
    runs = [(fault, 1) for fault in ("none", *FOUND)] + [(fault, 4) for fault in ("none", *THREADED)]
    failures = 0
    for fault, threads in runs:
        for seed in SEEDS:
            problem = complaint(run(program, library, fault, seed, threads), fault, seed)
            if problem:
                failures += 1
                print(f"fault {fault}, {threads} thread(s), seed {seed}: {problem}")
    print(f"{len(runs) * len(SEEDS) - failures} of {len(runs) * len(SEEDS)} runs as expected")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
