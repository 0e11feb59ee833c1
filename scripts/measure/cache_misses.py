"""Data-cache misses per operation of the mixed workload, without the driver's own, for any allocator.

cachegrind counts a run that only warms up (three operations for each slot of WS) and one of ITERS operations more:
their difference is the steady state, without start-up and exit. The same with BENCH_EMPTY=1 (the loop without the
allocator: its table of slots) is taken off. What is left are the misses of the allocator's own data, and of the first
touch of the blocks it hands out: one that hands out a cold block pays for it here.

The caches are the machine's unless D1 and LL say otherwise, each `bytes,ways,line` as valgrind takes them. valgrind has
no prefetcher and two levels: LL is the last one of the machine; LL=2097152,16,64 asks about a second level of 2 MiB.

Variables: ITERS (1000000), WS (100000 1000000), SEED (1), D1, LL. Arguments: --json, and allocators, see allocators.py;
without any: hakmem, every peer that is built, and glibc.
"""

import json
import os
import re
import sys
from pathlib import Path

import valgrind
from allocators import Allocator, named, needed
from output import Progress, table, until_interrupted
from settings import PEERS, number, numbers, refuse

CPU_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
WARM = 3  # operations a slot before anything is counted: then half of the slots are full
GEOMETRY = re.compile(r"\d+,\d+,\d+")
COUNTED = {
    "references": re.compile(r"^==\d+== D +refs: +([\d,]+)", re.M),
    "d1": re.compile(r"^==\d+== D1 +misses: +([\d,]+)", re.M),
    "ll": re.compile(r"^==\d+== LLd +misses: +([\d,]+)", re.M),
}
TITLES = ["allocator", "D1 with the loop", "D1 net", "LL with the loop", "LL net"]


def simulated(size, ways, line):
    """The cache as `bytes,ways,line`, with a power of two of sets, as valgrind wants it: of nearly its size, more ways."""
    sets = 1 << ((size // (ways * line)).bit_length() - 1)
    ways = size // (sets * line)
    return f"{sets * ways * line},{ways},{line}"


def described(directory):
    """(level, geometry) of one cache in the kernel's words; None when it holds no data or is not described in full."""
    try:
        kind, *figures = [
            (directory / name).read_text().strip()
            for name in ("type", "level", "size", "ways_of_associativity", "coherency_line_size")
        ]
        level, size, ways, line = (int(figure.removesuffix("K")) for figure in figures)
    except (OSError, ValueError):
        return None
    if kind == "Instruction" or min(size, ways, line) < 1 or size * 1024 < ways * line:
        return None
    return level, simulated(size * 1024, ways, line)


def machine_caches(root=CPU_CACHES):
    """The data cache of the first level and the last cache of this machine; None where the kernel does not say."""
    levels = sorted(filter(None, map(described, root.glob("index*"))))
    return (levels[0][1], levels[-1][1]) if len(levels) > 1 else (None, None)


def caches():
    """The geometries to simulate: those asked for, else the machine's; None leaves it to valgrind."""
    chosen = [os.environ.get(name) or found for name, found in zip(("D1", "LL"), machine_caches(), strict=True)]
    for name, geometry in zip(("D1", "LL"), chosen, strict=True):
        if geometry and not GEOMETRY.fullmatch(geometry):
            refuse(f"{name} must be bytes,ways,line, not '{geometry}'")
    return chosen


def parsed(text):
    """The counts at the end of cachegrind's words by name; None when one is missing."""
    found = {name: pattern.search(text) for name, pattern in COUNTED.items()}
    if not all(found.values()):
        return None
    return {name: int(match.group(1).replace(",", "")) for name, match in found.items()}


def counted(allocator, operations, working_set, geometry, empty):
    """The counts of a whole run; None when the allocator does not run under valgrind."""
    tool = ["--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null"]
    tool += [f"--{name}={asked}" for name, asked in zip(("D1", "LL"), geometry, strict=True) if asked]
    said = valgrind.said(tool, allocator, operations, working_set, empty)
    return None if said is None else parsed(said)


def per_operation(allocator, iterations, working_set, geometry, empty=False):
    """What one operation of the steady state adds to each count; None when the allocator does not run."""
    warm = counted(allocator, WARM * working_set, working_set, geometry, empty)
    long = counted(allocator, WARM * working_set + iterations, working_set, geometry, empty)
    if warm is None or long is None:
        return None
    return {name: (long[name] - warm[name]) / iterations for name in long}


def survey(allocators, iterations, working_set, geometry, progress):
    """The loop's own figures, and a (label, version, figures or None) for each allocator."""
    progress.say(f"WS={working_set}: the loop without an allocator")
    loop = per_operation(Allocator("system"), iterations, working_set, geometry, empty=True)
    if loop is None:
        refuse("valgrind does not run here")
    rows = []
    for allocator in allocators:
        progress.say(f"WS={working_set}: {allocator.label}")
        rows.append((allocator.label, allocator.version(), per_operation(allocator, iterations, working_set, geometry)))
    progress.clear()
    return loop, rows


def as_record(working_set, iterations, geometry, loop, rows):
    """One object a working set, for --json."""
    net = [
        {"allocator": label, "version": version, "with_loop": total, "net": total and {n: total[n] - loop[n] for n in total}}
        for label, version, total in rows
    ]
    return {
        "working_set": working_set,
        "operations": iterations,
        "caches": dict(zip(("D1", "LL"), geometry, strict=True)),
        "loop": loop,
        "allocators": net,
    }


def shown(record):
    """The same as a table."""
    caches_said = ", ".join(f"{name}={asked or 'as valgrind finds it'}" for name, asked in record["caches"].items())
    loop = record["loop"]
    print(f"data-cache misses per operation, WS={record['working_set']}, {record['operations']} operations; {caches_said}")
    print(f"the loop itself: D1 {loop['d1']:.3f}, LL {loop['ll']:.3f}")
    rows = []
    for row in record["allocators"]:
        total, net = row["with_loop"], row["net"]
        figures = [f"{f[name]:.3f}" for name in ("d1", "ll") for f in (total, net)] if total else ["does not run", "-", "-", "-"]
        rows.append([row["allocator"], *figures])
    table(TITLES, rows)


def peers():
    """The peers that are built, by name; a library of the same bytes under a second name is left out."""
    return [str(path) for path in sorted(PEERS.glob("lib*.so")) if path.with_suffix(".json").is_file()]


def main():
    words = [word for word in sys.argv[1:] if word != "--json"]
    needed("valgrind", "valgrind")
    allocators, geometry = named(words, ["hakmem", *peers(), "system"]), caches()
    iterations, records = number("ITERS", 1000000), []
    for working_set in numbers("WS", "100000 1000000"):
        loop, rows = survey(allocators, iterations, working_set, geometry, Progress())
        records.append(as_record(working_set, iterations, geometry, loop, rows))
        if len(words) == len(sys.argv) - 1:
            shown(records[-1])
    if len(words) < len(sys.argv) - 1:
        print(json.dumps(records, indent=2))
    return 0


if __name__ == "__main__":
    until_interrupted(main)
