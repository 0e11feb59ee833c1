"""Health check: the mixed workload under a variant and a profile, then the OS statistics line of the contract.

Healthy means: the run ends well; exactly one [SS_OS_STATS] line with every field; no advice failed, no mapping
fell back, and the memory system calls (mmap_total + free + madvise) stay under the contract's 1e-7 per operation, or
under a hundred for runs too short to tell. Everything that is not healthy is said by name.

`health.py observe`   one run of the observe build with its diagnostics shown (make perf_observe).
`health.py profiles`  every variant that is built x every profile, one line each (verify_health_profiles.sh).

Variables: ITERS (20000000), WS (400).
"""

import re
import sys

from allocators import PREFIX, THROUGHPUT, Allocator, RunFailed
from output import Progress, millions, table, until_interrupted
from settings import BENCH, no_arguments, number, refuse

FIELDS = (
    "alloc free madvise madvise_enomem madvise_other madvise_disabled mmap_total fallback_mmap huge_alloc huge_fail "
    "lean_decommit"
).split()
LINE = re.compile(r"^\[SS_OS_STATS\] " + " ".join(rf"{field}=(?P<{field}>\d+)" for field in FIELDS) + r"$", re.M)
MUST_BE_ZERO = ("madvise_enomem", "madvise_other", "madvise_disabled", "fallback_mmap", "huge_fail")
CALLS_PER_OPERATION = 1e-7
CALLS_OF_A_SHORT_RUN = 100
VARIANTS = ("hakmem", "hakmem_minimal", "hakmem_observe", "hakmem_hardened")
PROFILES = ("speed", "balanced", "lean")


def complaints(text, iterations):
    """What is wrong with the statistics in a run's stderr; an empty list when all is well."""
    lines = list(LINE.finditer(text))
    if len(lines) != 1:
        return [f"{len(lines)} well-formed [SS_OS_STATS] lines instead of one"]
    values = {field: int(lines[0].group(field)) for field in FIELDS}
    wrong = [f"{field}={values[field]}" for field in MUST_BE_ZERO if values[field]]
    calls = values["mmap_total"] + values["free"] + values["madvise"]
    if calls > max(CALLS_OF_A_SHORT_RUN, CALLS_PER_OPERATION * iterations):
        wrong.append(f"{calls} memory system calls")
    return wrong


def checked_run(allocator, iterations, working_set, **asked):
    """(the completed run or None, complaints)."""
    try:
        done = allocator.run(iterations, working_set, HAKMEM_SS_OS_STATS=1, BENCH_RSS=1, **asked)
    except RunFailed as failure:
        return None, [str(failure)]
    return done, complaints(done.stderr, iterations)


def observe(iterations, working_set):
    done, wrong = checked_run(Allocator("hakmem_observe"), iterations, working_set, HAKMEM_STATS=1)
    if done:
        print(done.stdout + done.stderr, end="")
    print("healthy" if not wrong else f"NOT healthy: {', '.join(wrong)}")
    return 1 if wrong else 0


def profiles(iterations, working_set):
    built = [variant for variant in VARIANTS if (BENCH / f"{PREFIX}{variant}").is_file()]
    if not built:
        refuse("no driver is built yet: run scripts/build_bench.sh")
    rows, failures, progress = [], 0, Progress()
    for variant in built:
        for profile in PROFILES:
            progress.say(f"{variant} {profile}")
            done, wrong = checked_run(Allocator(variant), iterations, working_set, HAKMEM_PROFILE=profile)
            speed = millions(int(THROUGHPUT.search(done.stdout).group(1))) if done else "-"
            rows.append([variant, profile, speed, "ok" if not wrong else f"FAILED: {', '.join(wrong)}"])
            failures += bool(wrong)
    progress.clear()
    table(["variant", "profile", "M ops/s", "health"], rows)
    return 1 if failures else 0


def main():
    modes = {"observe": observe, "profiles": profiles}
    no_arguments(after=1)
    if len(sys.argv) != 2 or sys.argv[1] not in modes:
        refuse("one argument: observe or profiles")
    return modes[sys.argv[1]](number("ITERS", 20000000), number("WS", 400))


if __name__ == "__main__":
    until_interrupted(main)
