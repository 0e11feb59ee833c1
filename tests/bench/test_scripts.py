"""Every script end to end with a handful of operations: what it prints, its columns, its verdict, its bad input."""

import csv
import io
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from support import DRIVER, LIBRARY, SCRIPTS, SYSTEM, main, run

APPLICATIONS = 8  # kinds: so many numbers in a row are one of each

FAKE = """#!/bin/sh
env >"$(dirname "$0")/environment"
echo "$@" >"$(dirname "$0")/arguments"
echo 'Throughput = 1000 ops/s [iter=5 ws=6] time=0.005s'
"""


def fake_driver(directory, text=FAKE):
    path = Path(directory) / "bench_random_mixed_fake"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def interruptible(command, environment):
    """A process group of its own, which hears SIGINT even where the shell that began all this ignores it."""

    def hear():
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(
        command, env=environment, text=True, start_new_session=True, preexec_fn=hear, **pipes
    )


class Runs(unittest.TestCase):
    def test_runs_then_figures(self):
        done = run([SCRIPTS / "run_mixed_10_cleanenv.sh"], ITERS=20000, WS=100, RUNS=3, BENCH_BIN=DRIVER)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 4)
        for i, line in enumerate(lines[:3], 1):
            self.assertRegex(line, rf"^run {i}: Throughput = \d+ ops/s \[iter=20000 ws=100\] time=")
        self.assertRegex(lines[3], r"^mean=\d+ median=\d+ min=\d+ max=\d+ stddev=\d+ CV=[\d.]+%$")

    def test_the_environment_is_clean(self):
        with tempfile.TemporaryDirectory() as directory:
            driver = fake_driver(directory)
            dirty = {"HAKMEM_STATS": 1, "MALLOC_ARENA_MAX": 1, "BENCH_ENV": "HAKMEM_PROFILE=lean"}
            done = run([SCRIPTS / "run_mixed_10_cleanenv.sh"], ITERS=5, WS=6, RUNS=1, BENCH_BIN=driver, **dirty)
            self.assertEqual(done.returncode, 0, done.stderr)
            seen = (Path(directory) / "environment").read_text(encoding="utf-8")
            self.assertEqual(re.findall(r"^(?:HAKMEM|MALLOC|LD)\w*=.*", seen, re.M), ["HAKMEM_PROFILE=lean"])
            self.assertEqual((Path(directory) / "arguments").read_text(encoding="utf-8"), "5 6 1\n")

    def test_a_driver_that_fails_is_named(self):
        with tempfile.TemporaryDirectory() as directory:
            driver = fake_driver(directory, "#!/bin/sh\necho 'last words' >&2\nexit 9\n")
            done = run([SCRIPTS / "run_mixed_10_cleanenv.sh"], RUNS=1, BENCH_BIN=driver)
        self.assertEqual(done.returncode, 1)
        self.assertIn("exit status 9", done.stderr)
        self.assertIn("last words", done.stderr)

    def test_no_driver(self):
        done = run([SCRIPTS / "run_mixed_10_cleanenv.sh"], BENCH_BIN="/nonexistent/driver")
        self.assertEqual(done.returncode, 2)
        self.assertIn("/nonexistent/driver", done.stderr)

    def test_a_library_that_is_not_used_is_not_measured(self):
        with tempfile.TemporaryDirectory() as directory:
            junk = Path(directory) / "junk.so"
            junk.write_text("no library\n", encoding="utf-8")
            for script in ("run_mixed_10_cleanenv.sh", "soak_mixed_single_process.sh"):
                done = run([SCRIPTS / script], BENCH_BIN=junk, RUNS=1, ITERS=10, DURATION_SEC=0.1)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn("junk", done.stderr)
            done = run([SCRIPTS / "startup_cost.sh", junk], RUNS=1)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("cannot be preloaded", done.stderr)

    def test_words_and_numbers_that_do_not_fit(self):
        wrong = (
            (["run_mixed_10_cleanenv.sh", "foo"], {}, "it takes no arguments, as 'foo'"),
            (["verify_health_profiles.sh", "foo"], {}, "it takes no arguments, as 'foo'"),
            (["run_mixed_10_cleanenv.sh"], {"ITERS": "1e5"}, "ITERS must be a whole number, not '1e5'"),
            (["run_mixed_10_cleanenv.sh"], {"PIN": "99999"}, "PIN must be off or one of the CPUs"),
            (["soak_mixed_single_process.sh"], {"DURATION_SEC": "nan"}, "DURATION_SEC must be a number, not 'nan'"),
            (["soak_mixed_single_process.sh"], {"EPOCH_SEC": "inf"}, "EPOCH_SEC must be a number, not 'inf'"),
        )
        for (script, *words), variables, said in wrong:
            done = run([SCRIPTS / script, *words], **variables)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(said, done.stderr)

    def test_help_measures_nothing(self):
        for script in ("run_mixed_10_cleanenv.sh", "rss_mixed.sh", "soak_mixed_rss.sh", "analyze_soak.py", "verify_health_profiles.sh"):
            done = run([SCRIPTS / script, "--help"])
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertNotIn("Throughput = ", done.stdout)
            self.assertGreater(len(done.stdout), 100)

    def test_output_that_cannot_be_written(self):
        with tempfile.TemporaryDirectory() as directory:
            csv_file = Path(directory) / "soak.csv"
            csv_file.write_text("epoch,iter,throughput_ops_s,rss_mb\n0,1000,5000,2.0\n", encoding="utf-8")
            for command in (["analyze_soak.py", csv_file], ["run_mixed_10_cleanenv.sh"]):
                words = [str(SCRIPTS / command[0]), *map(str, command[1:])]
                environment = {"PATH": os.environ["PATH"], "BENCH_BIN": DRIVER, "ITERS": "1000", "RUNS": "2"}
                with open("/dev/full", "w", encoding="utf-8") as full:
                    done = subprocess.run(words, env=environment, stdout=full, stderr=subprocess.PIPE, text=True)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("No space left on device", done.stderr)
                self.assertNotIn("Traceback", done.stderr)


class Pairs(unittest.TestCase):
    def test_figures_and_ratio_for_each_working_set(self):
        done = run([SCRIPTS / "perf_fast.sh", DRIVER, f"glibc={SYSTEM}"], ITERS=20000, WS="50 60", RUNS=6)
        self.assertEqual(done.returncode, 0, done.stderr)
        name = Path(DRIVER).name.replace("bench_random_mixed_", "")
        self.assertEqual(re.findall(r"^WS=(\d+), 6 rounds", done.stdout, re.M), ["50", "60"])
        ratio = rf"^ratio {name}/glibc = [\d.]+  \[[\d.]+ \.\. [\d.]+\] 95 %$"
        self.assertEqual(len(re.findall(ratio, done.stdout, re.M)), 2)
        self.assertEqual(len(re.findall(r"^glibc( +[\d.]+){5} +[\d.]+%$", done.stdout, re.M)), 2)

    def test_few_rounds_have_no_interval_and_reach_no_bar(self):
        for rounds, said in (1, "one round"), (5, "5 rounds"):
            done = run([SCRIPTS / "perf_fast.sh", f"hakmem={DRIVER}", f"mi={SYSTEM}"], ITERS=20000, WS=400, RUNS=rounds)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, rf"(?m)^ratio hakmem/mi = [\d.]+  \[{said}\]  bar 1\.00: too little to tell")

    def test_one_allocator_is_no_pair(self):
        self.assertEqual(run([SCRIPTS / "perf_fast.sh", SYSTEM], ITERS=10).returncode, 2)

    def test_interrupted_runs_keep_what_is_finished(self):
        environment = {"PATH": os.environ["PATH"], "ITERS": "1000", "WS": "10 20", "RUNS": "1"}
        with tempfile.TemporaryDirectory() as directory:
            # The driver of the second working set never ends by itself.
            text = f'#!/bin/sh\n[ "$2" = 10 ] && exec {SYSTEM} "$@"\ntouch "$(dirname "$0")/waiting"\nexec sleep 600\n'
            driver = fake_driver(directory, text)
            command = [SCRIPTS / "perf_fast.sh", f"a={driver}", f"b={driver}"]
            with interruptible(command, environment) as process:
                try:
                    while not (Path(directory) / "waiting").exists() and process.poll() is None:
                        time.sleep(0.02)
                    os.killpg(process.pid, signal.SIGINT)
                    out, err = process.communicate(timeout=200)
                finally:
                    if process.poll() is None:
                        os.killpg(process.pid, signal.SIGKILL)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn("WS=10, 1 rounds", out)
        self.assertNotIn("WS=20, ", out)
        self.assertIn("interrupted", err)


class Soaks(unittest.TestCase):
    def rows(self, done, titles):
        self.assertEqual(done.returncode, 0, done.stderr)
        reader = csv.DictReader(io.StringIO(done.stdout))
        rows = list(reader)
        self.assertEqual(reader.fieldnames, titles.split(","))
        self.assertGreater(len(rows), 0)
        return rows

    def test_one_process_per_step(self):
        done = run([SCRIPTS / "soak_mixed_rss.sh"], BENCH_BIN=DRIVER, DURATION_SEC=0.05, STEP_ITERS=20000, WS=100)
        rows = self.rows(done, "epoch_s,elapsed_s,iter,throughput_ops_s,peak_rss_mb")
        self.assertTrue(all(row["iter"] == "20000" and float(row["peak_rss_mb"]) > 0.2 for row in rows), rows)
        self.assertGreater(float(rows[-1]["elapsed_s"]), 0.049)

    def test_single_process(self):
        variables = {"DURATION_SEC": 0.3, "EPOCH_SEC": 0.05, "WS": 100, "HAKMEM_PROFILE": "lean"}
        done = run([SCRIPTS / "soak_mixed_single_process.sh"], BENCH_BIN=DRIVER, **variables)
        rows = self.rows(done, "epoch,iter,throughput_ops_s,rss_mb")
        self.assertEqual([row["epoch"] for row in rows], [str(i) for i in range(len(rows))])
        self.assertTrue(all(float(row["rss_mb"]) > 0.2 for row in rows), rows)

    def test_a_driver_that_fails_is_named(self):
        for script in ("soak_mixed_rss.sh", "soak_mixed_single_process.sh"):
            with self.subTest(script=script), tempfile.TemporaryDirectory() as directory:
                driver = fake_driver(directory, "#!/bin/sh\necho 'last words' >&2\nexit 9\n")
                done = run([SCRIPTS / script], BENCH_BIN=driver, DURATION_SEC=1)
                self.assertEqual(done.returncode, 1)
                self.assertIn("exit status 9", done.stderr)
                self.assertIn("last words", done.stderr)
                self.assertNotIn("Traceback", done.stderr)

    def test_a_profile_that_does_not_exist_is_refused(self):
        done = run([SCRIPTS / "soak_mixed_single_process.sh"], BENCH_BIN=DRIVER, DURATION_SEC=0.1, HAKMEM_PROFILE="leann")
        self.assertEqual(done.returncode, 1)
        self.assertIn("leann", done.stderr)

    def test_ended_by_a_signal_it_keeps_what_it_has(self):
        environment = {"PATH": os.environ["PATH"], "BENCH_BIN": DRIVER, "DURATION_SEC": "100", "STEP_ITERS": "20000"}
        soak = interruptible([str(SCRIPTS / "soak_mixed_rss.sh")], environment)
        lines = [soak.stdout.readline() for _ in range(3)]
        os.killpg(soak.pid, signal.SIGTERM)
        _, words = soak.communicate(timeout=60)
        self.assertEqual(soak.returncode, 143, words)
        self.assertTrue(lines[2].count(",") == 4 and "interrupted" in words and "Traceback" not in words, words)

    def test_what_they_write_can_be_analyzed(self):
        done = run([SCRIPTS / "soak_mixed_rss.sh"], BENCH_BIN=SYSTEM, DURATION_SEC=0.01, STEP_ITERS=1000, WS=10)
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "soak.csv"
            path.write_text(done.stdout, encoding="utf-8")
            for script in ("analyze_soak.py", "analyze_epoch_tail_csv.py"):
                self.assertEqual(run([SCRIPTS / script, path]).returncode, 0)


class Surveys(unittest.TestCase):
    def assert_suite_is_wanted(self, script):
        with tempfile.TemporaryDirectory() as directory:
            Path(directory, Path(SYSTEM).name).symlink_to(SYSTEM)
            done = run([SCRIPTS / script, LIBRARY], BENCH_DIR=directory)
        self.assertEqual(done.returncode, 2)
        self.assertIn("scripts/build_bench.sh suite builds it", done.stderr)

    def test_rss(self):
        done = run([SCRIPTS / "rss_mixed.sh", f"ours={DRIVER}", f"preloaded={LIBRARY}"], ITERS=2000, WS=50, RUNS=2)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^ours +[\d.]+ +[\d.]+$")
        self.assertRegex(done.stdout, r"(?m)^preloaded +[\d.]+ +[\d.]+$")

    @unittest.skipUnless(shutil.which("valgrind"), "no valgrind (Debian: valgrind)")
    def test_instructions(self):
        done = run([SCRIPTS / "instructions_mixed.sh", f"glibc={SYSTEM}"], ITERS=3000, WS=50)
        if done.returncode == 2 and "valgrind does not run here" in done.stderr:
            self.skipTest("valgrind does not run here")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^glibc +[\d.]+ +[\d.]+$")

    @unittest.skipUnless(shutil.which("valgrind"), "no valgrind (Debian: valgrind)")
    def test_own_instructions_of_any_program(self):
        counts = {}
        for numbers in (1000, 3000):
            done = run([SCRIPTS / "instructions_own.sh", f"ours={LIBRARY}", "--", SYSTEM, str(numbers), "50"])
            if "does not run" in done.stdout:
                self.skipTest("valgrind does not run here")
            self.assertEqual(done.returncode, 0, done.stderr)
            own, everything = re.search(r"(?m)^ours +([\d.]+) +([\d.]+)$", done.stdout).groups()
            counts[numbers] = float(own), float(everything)
        self.assertTrue(all(0 < own < everything for own, everything in counts.values()), counts)
        self.assertIn(round((counts[3000][0] - counts[1000][0]) * 1e6 / 2000), range(10, 60), counts)  # an operation

    def test_own_instructions_want_libraries_and_a_command(self):
        for words, said in (([LIBRARY], "libraries, then -- and a command"), (["no.so", "--", "true"], "no such library: no.so")):
            done = run([SCRIPTS / "instructions_own.sh", *words])
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)

    @unittest.skipUnless(shutil.which("valgrind"), "no valgrind (Debian: valgrind)")
    def test_instructions_of_bursts_want_a_library(self):
        done = run([SCRIPTS / "instructions_bursts.sh", f"glibc={SYSTEM}"])
        self.assertEqual(done.returncode, 2)
        self.assertIn("glibc is a driver: a burst wants a library to preload", done.stderr)

    @unittest.skipUnless(shutil.which("valgrind"), "no valgrind (Debian: valgrind)")
    def test_instructions_of_bursts_say_who_builds_the_suite(self):
        self.assert_suite_is_wanted("instructions_bursts.sh")

    def test_scenarios_compare_with_glibc_and_the_best(self):
        done = run([SCRIPTS / "scenarios.sh", f"ours={LIBRARY}"], FIRST=4, COUNT=3)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("3 scenarios, from 4 on", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^glibc +3 +1\.000 +(1\.000|-) +[\d.]+ +[0-3] +[\d.]+ \([456]\)$")
        self.assertRegex(done.stdout, r"(?m)^ours +3 +[\d.]+ +([\d.]+|-) +[\d.]+ +[0-3] +[\d.]+ \([456]\)$")

    def test_exchanges_are_compared_too(self):
        done = run([SCRIPTS / "scenarios.sh", f"ours={LIBRARY}"], PROGRAM="exchange", FIRST=6, COUNT=2)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 exchanges, from 6 on", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^ours +2 +[\d.]+ +([\d.]+|-) +[\d.]+ +[0-2] +[\d.]+ \([67]\)$")

    def test_applications_of_every_kind_are_compared(self):
        done = run([SCRIPTS / "scenarios.sh", f"ours={LIBRARY}"], PROGRAM="application", FIRST=8, COUNT=APPLICATIONS)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{APPLICATIONS} applications, from 8 on", done.stdout)
        self.assertRegex(done.stdout, rf"(?m)^ours +{APPLICATIONS} +[\d.]+ +[\d.]+ +[\d.]+ +[0-8] +[\d.]+ \(\d+\)$")

    @unittest.skipUnless(shutil.which("valgrind"), "no valgrind (Debian: valgrind)")
    def test_applications_free_all_that_they_take(self):
        application = Path(SYSTEM).parent / "application"
        for number in range(APPLICATIONS):
            with self.subTest(number):
                done = run(["valgrind", "--leak-check=full", "--error-exitcode=9", application, str(number)])
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("in use at exit: 0 bytes in 0 blocks", done.stderr)

    def test_scenarios_refuse_another_program(self):
        done = run([SCRIPTS / "scenarios.sh", f"ours={LIBRARY}"], PROGRAM="tree")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("PROGRAM must be scenario, exchange or application, not 'tree'", done.stderr)

    def test_a_scenario_is_what_its_number_says(self):
        for program in ("scenario", "exchange"):
            with self.subTest(program):
                described = self.assert_described(program)
                self.assertEqual(len(described), 1 + int(described[0].split()[0]))  # phases

    def test_an_application_is_what_its_number_says(self):
        described = self.assert_described("application")
        self.assertRegex(described[0], r"^a canvas: .*; some \d+ bytes, [1-4] threads$")
        self.assertEqual(len(described), 1)

    def assert_described(self, program):
        scenario = Path(SYSTEM).parent / program
        first, again, other = (run([scenario, which, "describe"]) for which in ("7", "7", "8"))
        self.assertEqual(first.returncode, 0, first.stderr)
        *described, figures = first.stdout.splitlines()
        self.assertEqual(described, again.stdout.splitlines()[:-1])
        self.assertNotEqual(described, other.stdout.splitlines()[:-1])
        self.assertRegex(figures, r"^\d+ \d+ \d+\.\d{4}$")
        for words in ([], ["x"], ["7", "tell"], ["-1"]):
            done = run([scenario, *words])
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(f"usage: {program} NUMBER", done.stderr)
        return described

    def test_scenarios_say_who_builds_their_program(self):
        self.assert_suite_is_wanted("scenarios.sh")

    def test_every_profile_runs_and_prints_its_statistics(self):
        done = run([SCRIPTS / "verify_health_profiles.sh"], ITERS=20000, WS=100)
        # A kernel without huge pages, or a limit on memory, may refuse an advice or a mapping: that is said by name.
        health = r"(ok|FAILED: (madvise_\w+|fallback_mmap|huge_fail)=.*)"
        for profile in ("speed", "balanced", "lean"):
            self.assertRegex(done.stdout, rf"(?m)^hakmem +{profile} +[\d.]+ +{health}$")
        self.assertEqual(done.returncode, 1 if "FAILED" in done.stdout else 0, done.stderr)

    def test_a_healthy_variant_passes(self):
        line = "alloc=9 free=1 madvise=2 madvise_enomem=0 madvise_other=0 madvise_disabled=0 mmap_total=9 "
        line += "fallback_mmap=0 huge_alloc=0 huge_fail=0 lean_decommit=0"
        with tempfile.TemporaryDirectory() as directory:
            text = FAKE + f"echo '[SS_OS_STATS] {line}' >&2\n"
            fake_driver(directory, text).rename(Path(directory) / "bench_random_mixed_hakmem")
            done = run([SCRIPTS / "verify_health_profiles.sh"], ITERS=5, WS=6, BENCH_DIR=directory)
        self.assertEqual((done.returncode, done.stdout.count(" ok")), (0, 3), done.stdout + done.stderr)

    def test_a_sick_variant_is_reported(self):
        with tempfile.TemporaryDirectory() as directory:
            fake_driver(directory).rename(Path(directory) / "bench_random_mixed_hakmem")
            done = run([SCRIPTS / "verify_health_profiles.sh"], ITERS=5, WS=6, BENCH_DIR=directory)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.count("FAILED: 0 well-formed"), 3)

    def test_unknown_driver_to_build(self):
        self.assertEqual(run([SCRIPTS / "build_bench.sh", "bench_random_mixed_nothing"]).returncode, 2)


if __name__ == "__main__":
    main()
