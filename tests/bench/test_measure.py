"""The parts of scripts/measure that turn text into verdicts: intervals, health, counted system calls, environments."""

import os
import unittest
from unittest import mock

from support import main  # first: it tells Python where scripts/measure is

import health
import pairs
import settings
import syscalls

LINE = (
    "[SS_OS_STATS] alloc=9 free=1 madvise=2 madvise_enomem=0 madvise_other=0 madvise_disabled=0 mmap_total=9 "
    "fallback_mmap=0 huge_alloc=0 huge_fail=0 lean_decommit=0"
)


class Interval(unittest.TestCase):
    def test_it_holds_the_median_and_narrows(self):
        few, many = [0.9, 1.0, 1.1], [0.9, 1.0, 1.1] * 30
        low, high = pairs.bootstrap_interval(few)
        self.assertTrue(low <= 1.0 <= high)
        narrow = pairs.bootstrap_interval(many)
        self.assertLessEqual(narrow[1] - narrow[0], high - low)
        self.assertEqual(pairs.bootstrap_interval([2.0, 2.0]), (2.0, 2.0))


class Health(unittest.TestCase):
    def test_a_healthy_line(self):
        self.assertEqual(health.complaints(f"noise\n{LINE}\n", 1000), [])

    def test_no_line_two_lines_a_broken_line(self):
        for text in ("", f"{LINE}\n{LINE}\n", LINE.replace(" huge_fail=0", "")):
            self.assertEqual(len(health.complaints(text, 1000)), 1, text)

    def test_failed_advice_and_fallbacks(self):
        for field in health.MUST_BE_ZERO:
            self.assertEqual(health.complaints(LINE.replace(f"{field}=0", f"{field}=3"), 1000), [f"{field}=3"])

    def test_too_many_calls(self):
        busy = LINE.replace("mmap_total=9", "mmap_total=150")
        self.assertEqual(health.complaints(busy, 20_000_000), ["153 memory system calls"])
        self.assertEqual(health.complaints(busy, 2_000_000_000), [])


class CountedCalls(unittest.TestCase):
    trace = [
        "11 mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 3, 0) = 0x7f0000000000",
        "11 brk(NULL) = 0x55",
        '11 write(1, "[EPOCH] 0 Throughput = 1 ops/s"..., 80) = 80',
        "12 madvise(0x7f00, 4096, MADV_DONTNEED) = 0",
        '11 write(2, "[EPOCH] 7 is not on stdout", 26) = 26',
        '11 write(1, "[EPOCH] 1 Throughput = 1 ops/s"..., 80) = 80',
        '11 write(1, "Throughput = 1 ops/s"..., 60) = 60',
        "11 munmap(0x7f00, 4096) = 0",
    ]

    def test_before_and_after_the_first_epoch(self):
        self.assertEqual(syscalls.count(self.trace), (2, 1))

    def test_a_trace_without_its_marks(self):
        self.assertIsNone(syscalls.count(self.trace[:2]))
        self.assertIsNone(syscalls.count(self.trace[:6]))


class Environments(unittest.TestCase):
    dirty = {
        "PATH": "/bin",
        "HOME": "/h",
        "LD_PRELOAD": "x.so",
        "HAKMEM_STATS": "1",
        "MALLOC_ARENA_MAX": "1",
        "MIMALLOC_VERBOSE": "1",
        "BENCH_WORKLOAD": "c0",
    }

    def test_nothing_inherited(self):
        with mock.patch.dict(os.environ, self.dirty, clear=True):
            clean = settings.clean_environment()
        self.assertEqual(clean, {"PATH": "/bin", "HOME": "/h", "LC_ALL": "C", "BENCH_WORKLOAD": "c0"})

    def test_asked_for(self):
        with mock.patch.dict(os.environ, self.dirty | {"BENCH_ENV": "HAKMEM_PROFILE=lean A=b=c"}, clear=True):
            clean = settings.clean_environment(HAKMEM_SS_OS_STATS=1, HAKMEM_PROFILE=None)
        self.assertEqual([clean.get(n) for n in ("HAKMEM_PROFILE", "A", "HAKMEM_SS_OS_STATS")], ["lean", "b=c", "1"])

    def test_bad_variables_end_the_program(self):
        for name, value, read in (
            ("RUNS", "many", lambda: settings.number("RUNS", 1)),
            ("RUNS", "0", lambda: settings.number("RUNS", 1)),
            ("WS", "400 x", lambda: settings.numbers("WS", "1")),
            ("BENCH_ENV", "word", settings.clean_environment),
        ):
            with self.subTest(name=name, value=value), mock.patch.dict(os.environ, {name: value}):
                with mock.patch("sys.stderr"), self.assertRaises(SystemExit) as ended:
                    read()
                self.assertEqual(ended.exception.code, 2)


if __name__ == "__main__":
    main()
