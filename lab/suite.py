"""The suite: every synthetic workload of the lab, each one question, as rows of one table.

A row names a driver (lab/programs.py), how much work a short run is (0.1 to 0.5 s on glibc, on a quiet core), and what
it follows. The work is fixed by the row and never by time, so every allocator does the same. `budget` scales it:
short runs are what interleaving wants (many pairs in little time), long ones what a look at memory wants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lab import programs
from lab.programs import Skipped
from lab.errors import AskedWrongly
from lab.model import Workload

SCALES = {"short": 1, "default": 4, "full": 12}
RANDOM_MIXED = "bench_random_mixed (the contract)"


@dataclass(frozen=True)
class Row:
    """One workload. `mode` is the driver's BENCH_WORKLOAD; without one the driver is suite_<program or name>.

    `iterations` are those of a short run, `most` bounds the scale (work that grows memory must not grow for ever).
    """

    name: str
    group: str
    iterations: int
    working_set: int
    question: str
    after: str
    mode: str = ""
    program: str = ""
    threads: int = 1
    seconds: float = 0.25
    most: int = 12
    env: dict[str, str] = field(default_factory=dict)


def _mixed(name: str, iterations: int, working_set: int, question: str, **more: object) -> Row:
    values = {"group": "mixed", "after": RANDOM_MIXED, "mode": "mixed"} | more
    return Row(name, iterations=iterations, working_set=working_set, question=question, **values)  # type: ignore[arg-type]


def _one_class(index: int, size: int) -> Row:
    question = f"the mixed loop with blocks of {size} bytes only: one class's path"
    return _mixed(f"class_{size}", 12_000_000, 400, question, group="classes", mode=f"c{index}")


ROWS = (
    _mixed("mixed_400", 12_000_000, 400, "the warm loop: 400 slots, 16..1024 bytes"),
    _mixed("mixed_10k", 6_000_000, 10_000, "a heap beyond the second-level cache: 10,000 slots"),
    _mixed("mixed_100k", 3_000_000, 100_000, "a cold heap: 100,000 slots, 26 MB live", seconds=0.4),
    _mixed("mixed_1m", 4_000_000, 1_000_000, "a heap far beyond every cache: 1,000,000 slots", seconds=1.2),
    _mixed("mixed_threads", 16_000_000, 400, "the warm loop in several threads at once", threads=2),
    _mixed("alloc_heavy", 8_000_000, 10_000, "fill 10,000 slots, then free them in the same order", mode="alloc_heavy"),
    _mixed("free_heavy", 8_000_000, 10_000, "fill 10,000 slots, then free them scattered", mode="free_heavy"),
    *(_one_class(index, size) for index, size in enumerate((16, 32, 64, 128, 256, 512, 768, 1024))),
    Row("larson", "threads", 3_000_000, 1000, "a server that replaces blocks while threads come and go",
        "larson (Larson and Krishnan 1998)", threads=2),
    Row("xmalloc", "threads", 3_000_000, 100, "every 64-byte block is freed by another thread, in batches",
        "xmalloc-test (Lever and Boreham 2000)", threads=2),
    Row("producer_consumer", "threads", 4_000_000, 1000, "one thread allocates, another frees, block by block",
        RANDOM_MIXED, mode="producer_consumer", threads=2, env={"BENCH_THREADS": "1"}),
    Row("mstress", "threads", 1_000_000, 1000, "mixed lifetimes, and blocks that migrate between threads",
        "mstress (Leijen, mimalloc-bench)", threads=2),
    Row("rptest", "threads", 1_200_000, 500, "16..16,000 bytes across threads", "rptest (Jansson, rpmalloc-benchmark)", threads=2),
    Row("glibc_thread", "threads", 6_000_000, 1024, "small and seldom large blocks in each thread",
        "bench-malloc-thread (glibc benchtests)", threads=2),
    Row("thread_churn", "threads", 1_000_000, 400, "a new thread for every 1,000 steps of mixed", RANDOM_MIXED,
        mode="thread_churn", threads=2, env={"BENCH_THREADS": "1"}),
    Row("sharing_active", "sharing", 200_000_000, 1000, "do blocks of two threads share a cache line",
        "cache-thrash (Berger 2000)", threads=2),
    Row("sharing_passive", "sharing", 200_000_000, 1000, "do they when the first ones lay side by side",
        "cache-scratch (Berger 2000)", threads=2),
    Row("burst_lifo", "bursts", 4_000_000, 1_000_000, "1,000,000 blocks of 64 bytes, the last one freed first",
        "threadtest (Berger 2000), sh6bench (MicroQuill)"),
    Row("burst_fifo", "bursts", 4_000_000, 1_000_000, "the same, the first one freed first", "threadtest, sh6bench"),
    Row("burst_random", "bursts", 2_000_000, 1_000_000, "the same, freed in random order", "threadtest, sh6bench", seconds=0.4),
    Row("bignum", "structures", 6_000_000, 100, "big-integer arithmetic: short-lived blocks that slowly grow",
        "cfrac (Barrett; Zorn's suite)"),
    Row("tree", "structures", 3_000_000, 16, "a tree built, walked and torn down",
        "GCBench (Boehm), binary-trees (Benchmarks Game)"),
    Row("waves", "structures", 12_000_000, 7000, "7,000 nodes of 8..48 bytes built, then dropped in another order, again and again",
        "passes of compilers, parsers, handlers of requests"),
    Row("records", "structures", 10_000_000, 4000, "4,000 records of 256, 512, 1,024 or 2,048 bytes in the order of use",
        "caches of stores and proxies"),
    Row("matrix", "structures", 15_000_000, 200, "matrices of 200 rows of 500 to 5,000 doubles, read by columns",
        "numerical programs in C (Press and others 1992)"),
    Row("objects", "structures", 4_000_000, 1000, "24..96 bytes from calloc, with counts of references that refer to each other",
        "reference-counted objects"),
    Row("hash_tables", "structures", 240_000, 10_000, "std::unordered_map of strings: insert, search, erase",
        "map benchmarks (Ankerl)"),
    Row("strings", "structures", 160_000, 20_000, "std::string: split, sort, count, join", "word frequency (Bentley 1986)"),
    Row("growing_realloc", "large", 1_500_000, 100, "many blocks that grow by half, 16 bytes to 64 KiB", RANDOM_MIXED,
        mode="growing_realloc"),
    Row("growing_vector", "large", 200_000, 64, "one vector that grows by half to 64 MiB", "FBVector (folly)"),
    Row("vectors", "large", 20_000_000, 4_000_000, "std::vector: elements appended, up to 4,000,000, read once, dropped",
        "appending in C++ (Stroustrup, \"The C++ Programming Language\")"),
    Row("large_blocks", "large", 400_000, 50, "32 KiB to 4 MiB, as many small as large ones", RANDOM_MIXED, mode="large_blocks"),
    Row("huge", "large", 1000, 4, "1 to 32 MiB that come and go", "malloc-large (Leijen, mimalloc-bench)"),
    Row("buffers", "large", 4000, 4, "a few buffers of 64 KiB to 4 MiB, each written whole, of a new size each time",
        "working buffers of servers and stores"),
    Row("requests", "large", 400_000, 20, "64 to 512 KiB, a sixteenth written, in several threads that each have their own",
        "bodies and replies of servers", threads=2),
    Row("aligned", "large", 2_000_000, 1000, "posix_memalign at 32..4096", "the mixed loop, with alignments"),
    Row("leak", "growth", 3_000_000, 8, "a heap that only grows: one block in eight stays",
        "ramps (Wilson and others 1995)", most=4),
    Row("phases", "growth", 2_000_000, 50_000, "grow, shrink to a twentieth, go on with other sizes: 20 cycles",
        "phases (Wilson and others 1995)"),
    Row("fork_storm", "processes", 200, 5000, "fork with a heap, and the child's first allocations",
        "lat_proc of lmbench (McVoy and Staelin 1996), with a heap"),
)


def groups() -> list[str]:
    """The names of the groups, in the order of the table."""
    return list(dict.fromkeys(row.group for row in ROWS))


def suite(
    names: Sequence[str] | None = None,
    group: str | Sequence[str] | None = None,
    budget: str = "short",
    skipped: list[Skipped] | None = None,
) -> list[Workload]:
    """The workloads of these names in these groups (neither given: all), their drivers built.

    `budget` is short, default or full. What cannot be built here is added to `skipped`.
    Raises AskedWrongly for a name, group or budget that does not exist, LabError when the drivers cannot be built.
    """
    if budget not in SCALES:
        raise AskedWrongly(f"there is no size '{budget}'", f"use one of: {', '.join(SCALES)}")
    chosen = choose(names, [group] if isinstance(group, str) else group)
    directory = programs.ready()
    found = []
    for row in chosen:
        path = directory / driver_of(row)
        if path.exists():
            found.append(workload_of(row, str(path), SCALES[budget]))
        elif skipped is not None:
            skipped.append(Skipped(row.name, f"{path.name} was not built: no C++ compiler", "g++"))
    return found


def choose(names: Sequence[str] | None, chosen_groups: Sequence[str] | None) -> list[Row]:
    """The rows of these names in these groups, in the order of the table; all names or groups where none are given."""
    by_name = {row.name for row in ROWS}
    for name in names or ():
        if name not in by_name:
            raise AskedWrongly(f"there is no workload '{name}'", f"use one of: {', '.join(row.name for row in ROWS)}")
    for group in chosen_groups or ():
        if group not in groups():
            raise AskedWrongly(f"there is no group '{group}'", f"use one of: {', '.join(groups())}")
    return [row for row in ROWS if (not names or row.name in names) and (not chosen_groups or row.group in chosen_groups)]


def driver_of(row: Row) -> str:
    """The file name of the row's driver."""
    return programs.MIXED if row.mode else f"suite_{row.program or row.name}"


def workload_of(row: Row, path: str, scale: int) -> Workload:
    """The row as a command; `scale` multiplies the work of a short run."""
    scale = min(scale, row.most)
    env = {"BENCH_RSS": "1", "BENCH_THREADS": str(row.threads)} | row.env
    if row.mode:
        env["BENCH_WORKLOAD"] = row.mode
    return Workload(
        name=row.name,
        question=row.question,
        command=[path, str(row.iterations * scale), str(row.working_set)],
        env=env,
        after=row.after,
        threads=row.threads,
        group=row.group,
        seconds=row.seconds * scale,
    )
