"""What `hakmem calls` reads and makes of it, on memory made up here; tests/calls looks at real processes."""

from __future__ import annotations

import csv
import io
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

from lab import cli, tail
from lab.calls import buckets, latency, picture, records, report, trace
from lab.calls.look import Look
from lab.calls.records import KINDS, Records, Thread
from lab.commands import calls
from lab.errors import LabError
from lab.explain import held, layout
from lab.tests.memory import FakeMemory

EXACT, STEPS, OCTAVES = 64, 32, 34
LARGEST = 32768
COUNT = EXACT + OCTAVES * STEPS
STATE_AT, LIST_AT = 0x100000, 0x100800
HEAPS_AT, CALLS_AT, RINGS_AT, APART = 0x200000, 0x400000, 0x800000, 0x20000
FIRST_TICKS, FIRST_NS = 1000, 50_000
EVENT = struct.Struct("=4Q")


# ---- buckets ----


def test_buckets_are_those_of_the_library() -> None:
    """The same as begins() of tests/upper/calls.c."""
    wanted = [b if b < EXACT else (STEPS + (b - EXACT) % STEPS) << ((b - EXACT) // STEPS + 1) for b in range(COUNT)]
    begins = buckets.begins(EXACT, STEPS, COUNT).tolist()
    assert begins == wanted and begins[:66] == [*range(64), 64, 66] and begins[-1] == 63 << 34
    assert all(b - a <= 1 + a / STEPS for a, b in zip(begins, begins[1:], strict=False)), "none is wider than 1/32"


def test_the_middle_stands_for_a_bucket() -> None:
    middles = buckets.middles(EXACT, STEPS, COUNT)
    assert middles[:64].tolist() == list(range(64)), "exact, tick by tick"
    assert middles[64] == 64.5 and middles[96] == 129.5 and middles[-1] == 63 << 34


def counted(ticks: Sequence[int]) -> list[int]:
    """The counts that the library would have of such calls."""
    begins = buckets.begins(EXACT, STEPS, COUNT)
    return np.bincount(np.searchsorted(begins, np.array(ticks, np.uint64), side="right") - 1, minlength=COUNT).tolist()


# ---- a process ----


class Process:
    """A made up process: each thread is a dictionary of counts by kind, and a list of events."""

    def __init__(self, *, timed: bool = True, first_ticks: int = FIRST_TICKS, variant: str = "observe", without: str = ""):
        self.memory = FakeMemory()
        self.heaps: list[int] = []
        clock = (first_ticks, FIRST_NS, first_ticks + 4000, FIRST_NS + 2000)  # half a ns a tick
        self.memory.put(STATE_AT, struct.pack("=5Q", timed, *clock))
        roots = [(name, STATE_AT, 8) for name in layout.ROOTS if name != "heaps.all"]
        roots += [("heaps.all", LIST_AT, 8), ("calls_state.timed", STATE_AT, 1)]
        roots += [(name, STATE_AT + 8 * i, 8) for i, name in enumerate(records.ROOTS) if i]
        fields = [(name, 0, 8) for name in layout.FIELDS if name != "heap.next"] + [
            ("heap.next", 0, 8),
            ("heap.calls", 8, 8),
        ]
        fields += [("calls.kinds", len(KINDS), 0), ("calls.exact", EXACT, 0), ("calls.steps", STEPS, 0)]
        fields += [("sizeclass.largest", LARGEST, 0)]
        length = len(KINDS) * COUNT * 8
        fields += [("calls.buckets", COUNT, 0), ("calls", 24 + length, 0), ("calls.counts", 24, length)]
        fields += [("calls.written", 0, 8), ("calls.size", 8, 8), ("calls.ring", 16, 8), ("calls_event", 32, 0)]
        fields += [(f"calls_event.{name}", 8 * i, 8) for i, name in enumerate(("ticks", "address", "caller", "bytes"))]
        self.memory.describe(roots, fields, variant, without)
        self._link()

    def _link(self) -> None:
        """The newest heap is the first of the list."""
        self.memory.put(LIST_AT, struct.pack("=Q", self.heaps[-1] if self.heaps else 0))

    def thread(
        self,
        ticks: dict[str, Sequence[int]] | None = None,
        events: Sequence[tuple[int, ...]] = (),
        size: int = 0,
        called: bool = True,
    ) -> None:
        """A heap; events are (ticks, address, caller, bytes, kind), in a ring of `size`."""
        number, before = len(self.heaps), self.heaps[-1] if self.heaps else 0
        at = CALLS_AT + APART * number
        self.heaps.append(HEAPS_AT + 64 * number)
        self.memory.put(self.heaps[-1], struct.pack("=2Q", before, at if called else 0))
        self._link()
        counts = [counted((ticks or {}).get(kind, [])) for kind in KINDS]
        text = struct.pack(f"={COUNT * len(KINDS)}Q", *(one for row in counts for one in row))
        ring = RINGS_AT + APART * number
        self.memory.put(at, struct.pack("=3Q", len(events), size, ring if size else 0) + text)
        slots = [bytes(EVENT.size)] * size
        for i, (when, address, caller, count, kind) in enumerate(events):
            slots[i % size] = EVENT.pack(when, address, caller, count | kind << 56)
        self.memory.put(ring, b"".join(slots))

    def written(self, number: int, events: int) -> None:
        """So many events there are of a thread by now."""
        at = CALLS_AT + APART * number
        self.memory.put(at, struct.pack("=Q", events) + self.memory.pages[at][8:])

    def read(self, held: bool = False) -> Records:
        return records.read(self.memory, self.memory.layout(), held)  # type: ignore[arg-type]


def event(number: int, kind: int = 0) -> tuple[int, ...]:
    return (FIRST_TICKS + 10 * number, 0x5000 + 16 * number, 0x100 + number % 3, number, kind)


def numbers(thread: Thread) -> list[int]:
    """Which events are there."""
    return [int(one) & ((1 << 56) - 1) for one in thread.events["bytes"]]


def test_a_process_is_read() -> None:
    process = Process()
    process.thread({"malloc": [1, 1, 70], "resize": [5]})
    process.thread(called=False)
    process.thread({"malloc": [1], "large free": [10**6]}, [event(0), event(1, 1)], size=4)
    found = process.read()
    assert (found.timed, found.kept, found.torn, found.ns_per_tick) == (True, True, 0, 0.5)
    assert [thread.number for thread in found.threads] == [0, 2], "the oldest heap is the first; one has not called"
    assert [int(thread.counts.sum()) for thread in found.threads] == [4, 2]
    assert found.threads[0].counts[0, 1] == 2 and found.threads[0].counts[4, 5] == 1
    assert numbers(found.threads[1]) == [0, 1] and found.threads[1].overwritten == 0


def test_no_thread_has_called_yet() -> None:
    found = Process().read()
    assert found.threads == [] and not found.kept and latency.of_records(found)[-1].count == 0


def test_how_long_a_tick_is_may_not_be_known_yet() -> None:
    process = Process()
    process.memory.put(STATE_AT, struct.pack("=5Q", 1, FIRST_TICKS, FIRST_NS, FIRST_TICKS, FIRST_NS))
    assert process.read().ns_per_tick == 0


# ---- refusals ----


@pytest.mark.parametrize("without", ["calls_state.timed", "calls.buckets", "calls_event", "heap.calls"])
def test_an_older_hakmem_is_refused(without: str) -> None:
    with pytest.raises(LabError, match=r"is on hakmem 0\.1\.0 observe, which knows no calls") as error:
        Process(without=without).read()
    assert error.value.status == 1 and "hakmem run --calls -- CMD" in error.value.fix


def test_a_variant_that_cannot_is_refused() -> None:
    with pytest.raises(LabError, match=r"hakmem 0\.1\.0 fast, which cannot note down calls") as error:
        Process(timed=False, first_ticks=0, variant="fast").read()
    assert "hakmem run --calls -- CMD" in error.value.fix and "libhakmem-observe.so" in error.value.fix


def test_one_that_was_not_asked_is_refused() -> None:
    with pytest.raises(LabError, match="which was not asked to note down calls") as error:
        Process(timed=False, first_ticks=0).read()
    assert "HAKMEM_LATENCY=1" in error.value.fix and "HAKMEM_TRACE=65536" in error.value.fix


# ---- rings ----


@pytest.mark.parametrize(
    ("written", "wanted", "held"),
    [
        (3, [0, 1, 2], [0, 1, 2]),
        (7, [0, 1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5, 6]),
        (8, [1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3, 4, 5, 6, 7]),  # the oldest may be being overwritten, if it runs
        (19, [12, 13, 14, 15, 16, 17, 18], [11, 12, 13, 14, 15, 16, 17, 18]),
    ],
)
def test_a_ring_has_its_last_events(written: int, wanted: list[int], held: list[int]) -> None:
    process = Process()
    process.thread(events=[event(i) for i in range(written)], size=8)
    for is_held, numbers_ in ((False, wanted), (True, held)):
        (thread,) = process.read(is_held).threads
        assert numbers(thread) == numbers_ and thread.overwritten == written - len(numbers_)


@pytest.mark.parametrize(("more", "wanted"), [(1, [13, 14, 15, 16, 17, 18]), (6, [18]), (7, []), (100, [])])
def test_what_was_overwritten_while_it_was_read_is_left_out(more: int, wanted: list[int]) -> None:
    process = Process()
    process.thread(events=[event(i) for i in range(19)], size=8)
    process.memory.forgotten = lambda: process.written(0, 19 + more)
    (thread,) = process.read().threads
    assert numbers(thread) == wanted and thread.overwritten == 19 + more - 8 + 1


@pytest.mark.parametrize("text", [struct.pack("=2Q", 0, 0x7777), struct.pack("=2Q", 0, 0x7777000), struct.pack("=Q", 0)])
def test_a_heap_that_makes_no_sense_is_left_out(text: bytes) -> None:
    process = Process()
    process.thread({"free": [3]})
    process.thread({"malloc": [3]})
    process.memory.put(HEAPS_AT, text)
    found = process.read()
    assert found.torn == 1 and [thread.number for thread in found.threads] == [1]


def test_a_ring_that_cannot_be_is_left_out() -> None:
    process = Process()
    process.thread({"free": [3]})
    process.memory.put(CALLS_AT, struct.pack("=3Q", 5, 1 << 60, 8) + process.memory.pages[CALLS_AT][24:])
    assert process.read().torn == 1


def test_a_list_that_bites_its_tail_ends() -> None:
    process = Process()
    process.thread({"free": [3]})
    process.thread({"free": [3]})
    process.memory.put(HEAPS_AT, struct.pack("=2Q", HEAPS_AT + 64, CALLS_AT))
    assert len(process.read().threads) == 2


# ---- latencies ----


def drawn_ticks(seed: int, count: int) -> list[int]:
    """Most calls are short, some are very long."""
    chosen = np.random.default_rng(seed)
    return [int(one) for one in chosen.lognormal(3.5, 1.4, count)]


def test_percentiles_are_those_of_the_calls_themselves() -> None:
    """Against NumPy on the same samples, one up or down: within half of a bucket, and what HdrHistogram rounds to."""
    first, second = drawn_ticks(1, 20000), drawn_ticks(2, 30000)
    process = Process()
    process.thread({"malloc": first, "free": [20] * 10})
    process.thread({"malloc": second})
    found = {one.kind: one for one in latency.of_records(process.read())}
    together = np.array(first + second) / 2  # ns
    assert found["malloc"].count == 50000 and found["all"].count == 50010 and found["resize"].count == 0
    for percent, ns in zip(tail.PERCENTS, found["malloc"].ns, strict=False):
        beside = 100 / len(together)
        low, high = np.percentile(together, [percent - beside, percent + beside], method="inverted_cdf")
        off = high / 64 + high / 1000 + 0.3
        assert low - off <= ns <= high + off, (percent, low, ns, high)
    assert abs(found["malloc"].ns[-1] - together.max()) <= together.max() / 60
    assert abs(found["malloc"].total_ns - together.sum()) <= together.sum() / 64
    assert found["free"].ns == [10.0] * 6 and found["free"].total_ns == 100
    assert found["all"].total_ns == pytest.approx(found["malloc"].total_ns + 100)


def test_calls_longer_than_any_bucket_are_counted() -> None:
    process = Process()
    process.thread({"free": [1 << 50]})
    found = {one.kind: one for one in latency.of_records(process.read())}
    assert found["free"].count == 1 and found["free"].ns[-1] == pytest.approx((63 << 34) / 2, rel=2e-3)


def test_the_log_is_read_back(tmp_path: Path) -> None:
    process = Process()
    process.thread({"malloc": drawn_ticks(3, 5000), "large free": [400] * 7})
    found = [one for one in latency.of_records(process.read()) if one.count]
    (tmp_path / "calls.hlog").write_bytes(latency.written(found, "calls.hlog"))
    reader = HistogramLogReader(str(tmp_path / "calls.hlog"), tail.empty())
    for one in found:
        again: HdrHistogram = reader.get_next_interval_histogram()
        assert again.get_tag() == one.kind.replace(" ", "_") and again.get_total_count() == one.count
        assert tail.percentiles(again) == one.ns
    assert reader.get_next_interval_histogram() is None


def test_the_list_of_percentiles() -> None:
    process = Process()
    process.thread({"malloc": [20] * 99 + [2000], "large free": [400] * 7})
    text = latency.written(latency.of_records(process.read()), "calls.txt").decode()
    assert re.findall(r"#\[hakmem calls: (.*), nanoseconds\]", text) == ["malloc", "large free", "all"]
    assert re.search(r"^ +10\.000 0\.5\d+ +99 ", text, re.M) and re.search(r"TotalCount     = +7\.000", text)


# ---- traces ----


def two_threads() -> Records:
    process = Process()
    process.thread(events=[(1000, 0x50, 0x100, 64, 0), (1040, 0, 0x101, 1 << 40, 2), (1100, 0x50, 0x102, 64, 1)], size=8)
    process.thread(events=[(1020, 0x60, 0x101, 99000, 2), (1040, 0x60, 0x102, 99001, 4), (1041, 0x60, 0x102, 8, 3)], size=2)
    return process.read(held=True)


def test_threads_are_merged_in_time_order() -> None:
    found = trace.merged(two_threads())
    assert list(zip(found.ns.tolist(), found.thread.tolist(), found.kind.tolist(), strict=True)) == [
        (0, 0, 0),
        (20, 0, 2),
        (20, 1, 4),
        (20, 1, 3),
        (50, 0, 1),
    ]
    assert (len(found), found.overwritten, found.torn, found.whole_from_ns) == (5, 1, 0, 20)


def test_events_that_make_no_sense_are_left_out() -> None:
    process = Process()
    process.thread(events=[event(0), event(1, kind=5), (0, 1, 2, 3, 1), event(2, kind=255), event(3)], size=8)
    found = trace.merged(process.read())
    assert found.bytes.tolist() == [0, 3] and found.torn == 3


NAMES = {0x100: "take", 0x101: "std::vector<int, x>::grow", 0x102: "give"}


def test_the_csv() -> None:
    text = trace.as_csv(trace.merged(two_threads()), NAMES).decode()
    header, *rows = csv.reader(io.StringIO(text))
    assert tuple(header) == trace.HEADER
    assert rows[1:3] == [
        ["20", "0", "large malloc", "0x0", str(1 << 40), "0x101", "std::vector<int, x>::grow"],
        ["20", "1", "resize", "0x60", "99001", "0x102", "give"],
    ]
    assert len(rows) == 5


def test_callers_are_summed_up() -> None:
    found = trace.by_caller(trace.merged(two_threads()), NAMES)
    assert found[0] == trace.Caller("give", 3, 0, 0, 2, 72, 1)
    assert found[1:] == [trace.Caller("take", 1, 1, 64, 0, 0, 0), trace.Caller(NAMES[0x101], 1)], "it failed: no bytes"
    same = trace.by_caller(trace.merged(two_threads()), dict.fromkeys(NAMES, "one"))
    assert [(one.name, one.events) for one in same] == [("one", 5)]


def test_no_events() -> None:
    process = Process()
    process.thread(size=8)
    found = trace.merged(process.read())
    assert len(found) == 0 and trace.by_caller(found, {}) == []
    assert trace.as_csv(found, {}).decode().strip() == ",".join(trace.HEADER)


# ---- the page and the command ----


def look(timed: bool = True, kept: bool = True, cpu_s: float = 0.0) -> Look:
    found = two_threads()
    found.timed = timed
    filled = np.zeros((len(KINDS), COUNT), np.uint64)
    filled[0, 40], filled[1, 20], filled[3, 60] = 1000, 500, 10
    found.threads = [replace(found.threads[0], counts=filled), found.threads[1]]
    events = trace.merged(found) if kept else None
    return Look(7, "program $1", "observe", "0.1.0", "running", 5, cpu_s, found, NAMES, events)


def test_the_page_says_counts_times_and_shares() -> None:
    page = "\n".join(report.lines(look(cpu_s=0.5)))
    assert "process 7 (program $1), hakmem 0.1.0 observe; snapshot of a running process" in page
    assert "records of 2 threads" in page
    assert re.search(r"^malloc +1,000 +20\.\d .* 79\.\d$", page, re.M) and re.search(r"^large free +10 +30\.", page, re.M)
    assert not re.search(r"^resize", page, re.M), "kinds without calls are left out"
    assert "of the 500 ms of CPU time" in page and "1/32" in page and "32,768 bytes" in page and "0.5 ns" in page
    assert "the last 5 calls" in page and "1 older one was overwritten" in page and re.search(r"^give +3 +60\.0", page, re.M)


def test_a_share_of_too_little_time_is_not_said() -> None:
    assert "CPU time" not in "\n".join(report.lines(look(cpu_s=0.05)))


def test_the_page_of_a_process_that_is_not_timed() -> None:
    page = "\n".join(report.lines(look(timed=False), top=1))
    assert "HAKMEM_LATENCY=1" in page and "p50" not in page and "give" in page and re.search("^take ", page, re.M) is None


def test_the_page_before_any_call() -> None:
    page = report.lines(replace(look(kept=False), records=Process().read()))
    assert page[1:] == ["no calls yet"]


def test_the_json() -> None:
    found = report.as_json(look(cpu_s=0.5))
    assert found["kinds"]["malloc"]["calls"] == 1000 and found["percents"] == [*tail.PERCENTS, 100.0]
    assert sum(found["kinds"][kind]["share"] for kind in KINDS) == pytest.approx(1)
    assert found["trace"]["callers"][0]["name"] == "give" and found["threads"][1] == {"number": 1, "calls": 0, "events": 2}
    assert report.as_json(look(kept=False))["trace"] is None


def test_the_picture() -> None:
    svg = picture.drawn(look(), "svg").decode()
    for words in ("malloc (1,000 calls)", "large free (10 calls)", "99.9 %", "10 ns", "program $1"):
        assert words in svg, words
    assert "resize" not in svg and picture.drawn(look(), "svg").decode() == svg, "the same figures, the same file"
    assert picture.drawn(look(), "png").startswith(b"\x89PNG")


@pytest.fixture(name="taken")
def _taken(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the command finds, and how it looked."""
    found: dict[str, Any] = {"look": look()}

    def take(pid: int, state: str) -> Look:
        found["asked"] = (pid, state)
        return found["look"]

    monkeypatch.setattr(calls.look, "take", take)
    return found


def test_the_command_writes_all_files(taken: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [str(tmp_path / name) for name in ("curves.svg", "events.csv", "calls.hlog")]
    words = [
        "calls",
        "7",
        "--plot",
        names[0],
        "--trace",
        names[1],
        "--histogram",
        names[2],
        "--json",
        str(tmp_path / "json"),
    ]
    assert cli.main(words) == 0 and taken["asked"] == (7, "running")
    said = capsys.readouterr().out
    assert all(name in said and Path(name).stat().st_size for name in [*names, str(tmp_path / "json")] if "json" not in name)
    assert (tmp_path / "events.csv").read_text().count("\n") == 6


def test_a_disk_that_is_full_costs_a_file_but_not_the_page(
    taken: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "calls.hlog"
    words = ["calls", "7", "--trace", "/dev/full", "--histogram", str(log)]
    assert cli.main(words) == 1 and log.stat().st_size
    said = capsys.readouterr()
    assert "hakmem 0.1.0 observe" in said.out and f"histograms: {log}" in said.out and "events: /dev/full" not in said.out
    assert said.err == "hakmem: cannot write /dev/full: No space left on device\n  give --trace a file that can be written\n"


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["one"], 2, "'one' is not a process id"),
        (["7", "--plot", "curves.gif"], 2, "is no picture"),
        (["7", "--trace", "same", "--histogram", "./same"], 2, "--trace and --histogram name the same file, ./same"),
        (["--run", "lib.so", "--heap", "same", "--trace", "same", "--", "true"], 2, "--trace and --heap name the same file, same"),
        (["7", "--trace", "/nowhere/file"], 1, "cannot write /nowhere/file: there is no such directory"),
        (["7", "--histogram", "/"], 1, "cannot write /: it is a directory"),
        (["7", "--json", "/nowhere/file"], 1, "cannot write /nowhere/file"),
    ],
)
def test_asked_wrongly(
    taken: dict[str, Any], words: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["calls", *words]) == status and "asked" not in taken
    told = capsys.readouterr()
    assert said in told.err and not told.out


@pytest.mark.parametrize(
    ("option", "has", "words"),
    [("--trace", {"kept": False}, "HAKMEM_TRACE"), ("--plot", {"timed": False}, "HAKMEM_LATENCY"),
     ("--histogram", {"timed": False}, "HAKMEM_LATENCY")],
)  # fmt: skip
def test_what_is_not_noted_down_is_not_written(
    taken: dict[str, Any], option: str, has: dict[str, bool], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken["look"] = look(**has)
    assert cli.main(["calls", "7", option, str(tmp_path / "file.svg")]) == 1
    assert words in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_all_reports_of_a_held_program(
    taken: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one hold, in this order."""
    order: list[str] = []

    def run(words: Sequence[str], library: str, reports: Sequence[Callable[[int], None]]) -> int:
        assert (list(words), library) == (["true", "--x"], "lib.so")
        for one in reports:
            one(9)
        return 3

    monkeypatch.setattr(held, "run", run)
    monkeypatch.setattr(calls.explain, "at_exit", lambda pid: order.append(f"explain {pid}"))
    monkeypatch.setattr(calls.heap, "at_exit", lambda pid, path: order.append(f"heap {pid} {path}"))
    profile = str(tmp_path / "profile")
    assert cli.main(["calls", "--run", "lib.so", "--explain", "--heap", profile, "--", "true", "--x"]) == 3
    assert order == ["explain 9", f"heap 9 {profile}"] and taken["asked"] == (9, "exit")
    assert "process 7" in capsys.readouterr().out
