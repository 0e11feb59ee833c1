"""The benchmark driver of the tested variant: its lines, its epochs, its workloads, and what it says to bad input."""

import os
import re
import subprocess
import unittest

from support import DRIVER, ROOT, SECONDS, main, run

THROUGHPUT = r"Throughput = (\d+) ops/s \[iter=(\d+) ws=(\d+)\] time=(\d+\.\d{3})s"
EPOCH = r"\[EPOCH\] (\d+) " + THROUGHPUT + r" rss_kb=(\d+)"
ROWS = re.findall(r"^WORKLOAD\((\w+),", (ROOT / "bench/workloads.def").read_text(encoding="utf-8"), re.M)
CONTRACT = "mixed c0 c1 c2 c3 c4 c5 c6 c7 alloc_heavy free_heavy producer_consumer thread_churn".split()


class Lines(unittest.TestCase):
    def test_the_last_line(self):
        done = run([DRIVER, 20000, 300])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = re.fullmatch(THROUGHPUT + r"\n", done.stdout)
        self.assertTrue(found, done.stdout)
        self.assertEqual(found.group(2, 3), ("20000", "300"))
        self.assertGreater(int(found.group(1)), 0)

    def test_defaults(self):
        done = run([DRIVER], BENCH_EMPTY=1)
        self.assertIn("[iter=20000000 ws=400]", done.stdout)

    def test_epochs_and_a_short_last_one(self):
        done = run([DRIVER, 25000, 300, 7], HAKMEM_BENCH_EPOCH_ITERS=10000)
        lines = done.stdout.splitlines()
        epochs = [re.fullmatch(EPOCH, line) for line in lines[:-1]]
        self.assertTrue(all(epochs), done.stdout)
        self.assertEqual([epoch.group(1, 3) for epoch in epochs], [("0", "10000"), ("1", "10000"), ("2", "5000")])
        self.assertTrue(all(int(epoch.group(6)) > 0 for epoch in epochs), done.stdout)
        self.assertIn("[iter=25000 ws=300]", lines[-1])

    def test_writing_the_first_line_is_not_read_as_growth(self):
        done = run([DRIVER, 40000, 1], HAKMEM_BENCH_EPOCH_ITERS=20000)
        first, second = (int(rss_kb) for rss_kb in re.findall(r"rss_kb=(\d+)", done.stdout))
        self.assertLess(second - first, 64, done.stdout)

    def test_a_gated_run_takes_a_byte_for_each_epoch_and_ends_with_its_input(self):
        environment = {"PATH": os.environ["PATH"], "BENCH_GATE": "1", "HAKMEM_BENCH_EPOCH_ITERS": "1000"}
        command = [DRIVER, "90000", "50"]
        done = subprocess.run(command, env=environment, input="..", capture_output=True, text=True, timeout=SECONDS)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.count("[EPOCH]"), 2)
        self.assertIn("[iter=2000 ws=50]", done.stdout.splitlines()[-1])

    def test_peak_rss_goes_to_stderr_and_is_the_drivers_own(self):
        done = run([DRIVER, 20000, 400], BENCH_RSS=1)
        peak = re.fullmatch(r"\[RSS\] peak_kb=(\d+)\n", done.stderr)
        self.assertTrue(peak, done.stderr)
        self.assertGreater(int(peak.group(1)), 100)
        larger = run([DRIVER, 400000, 100000], BENCH_RSS=1)
        # 50,000 live blocks of 520 bytes on average.
        self.assertGreater(int(re.search(r"\d+", larger.stderr).group()), int(peak.group(1)) + 20000)


class Workloads(unittest.TestCase):
    def test_the_contract_names_them(self):
        self.assertEqual(set(CONTRACT + ["growing_realloc", "large_blocks"]), set(ROWS))

    def test_each_runs_with_and_without_the_allocator(self):
        for name in ROWS:
            for empty in (0, 1):
                with self.subTest(workload=name, empty=empty):
                    done = run([DRIVER, 6001, 50], BENCH_WORKLOAD=name, BENCH_EMPTY=empty)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertRegex(done.stdout, THROUGHPUT)

    def test_each_runs_on_several_threads_in_epochs(self):
        for name in ROWS:
            with self.subTest(workload=name):
                done = run([DRIVER, 6001, 20], BENCH_WORKLOAD=name, BENCH_THREADS=3, HAKMEM_BENCH_EPOCH_ITERS=2000)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(done.stdout.count("[EPOCH]"), 4)

    def test_one_slot(self):
        for name in ROWS:
            with self.subTest(workload=name):
                self.assertEqual(run([DRIVER, 500, 1], BENCH_WORKLOAD=name).returncode, 0)


class BadInput(unittest.TestCase):
    def refused(self, *arguments, words="must be", **environment):
        done = run([DRIVER, *arguments], **environment)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertIn(words, done.stderr)

    def test_arguments(self):
        for word in ("x", "0", "-5", "1.5", "10k", "", "99999999999999999999"):
            with self.subTest(ITERS=word):
                self.refused(word, words="usage" if word.startswith("-") else "ITERS must be")
        self.refused("10", "0", words="WS must be")
        self.refused("10", "10", "seed", words="SEED must be")
        self.refused("1", "1", "1", "1", words="usage")
        self.refused("--help", words="usage")

    def test_environment(self):
        self.refused("10", BENCH_WORKLOAD="nothing", words="nothing")
        self.refused("10", BENCH_THREADS="0")
        self.refused("10", BENCH_THREADS="many")
        self.refused("10", BENCH_EMPTY="yes")
        self.refused("10", BENCH_RSS="2")
        self.refused("10", BENCH_GATE="-1")
        self.refused("10", HAKMEM_BENCH_EPOCH_ITERS="-1")


if __name__ == "__main__":
    main()
