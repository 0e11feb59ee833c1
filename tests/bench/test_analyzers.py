"""The analyzers on CSV files whose figures can be worked out by hand, and on files that are no soak's."""

import tempfile
import unittest
from pathlib import Path

from support import SCRIPTS, main, run

SINGLE = "epoch,iter,throughput_ops_s,rss_mb\n"
STEPS = "epoch_s,elapsed_s,iter,throughput_ops_s,peak_rss_mb\n"


class Analyzers(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def file(self, text, name="soak.csv"):
        path = Path(self.directory.name) / name
        path.write_text(text, encoding="utf-8")
        return path

    def analyzed(self, script, *paths):
        done = run([SCRIPTS / script, *paths])
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_soak_of_one_process(self):
        rows = "".join(f"{i},10,{1000 + 10 * i},{2 + 0.1 * i:.1f}\n" for i in range(11))
        text = self.analyzed("analyze_soak.py", self.file(SINGLE + rows))
        self.assertIn("11 epochs", text)
        self.assertIn("mean=1050 first5=1020 last5=1080 drift=+5.88%", text)
        # sqrt(10**2 * 11 * 12 / 12) = 33.17
        self.assertIn("stddev=33 CV=3.16%", text)
        self.assertIn("rss_mb first=2.00 last=3.00 peak=3.00 drift=+50.00%", text)

    def test_soak_of_many_processes_and_several_files(self):
        steps = self.file(STEPS + "1700000000,1.0,10,500,4.5\n1700000001,2.0,10,400,4.0\n", "steps.csv")
        single = self.file(SINGLE + "0,10,700,1\n", "single.csv")
        text = self.analyzed("analyze_soak.py", steps, single)
        self.assertIn("mean=450 first5=450 last5=450 drift=+0.00%", text)
        self.assertIn("rss_mb first=4.50 last=4.00 peak=4.50 drift=-11.11%", text)
        self.assertIn("mean=700 ", text)
        self.assertIn("stddev=0 CV=0.00%", text)

    def test_tail_is_the_low_side_of_throughput_and_the_high_side_of_latency(self):
        rows = "".join(f"{i},10,{1000000 * (i + 1)},1\n" for i in range(101))
        text = self.analyzed("analyze_epoch_tail_csv.py", self.file(SINGLE + rows))
        self.assertIn("throughput_ops_s p50=51000000 p90=11000000 p99=2000000 p99.9=1100000", text)
        # ns per operation: 1000 / 51, 1000 / 11, 1000 / 2, and nine tenths of the way from there to 1000.
        self.assertIn("latency_ns_op p50=19.6078 p90=90.9091 p99=500.0000 p99.9=950.0000", text)
        self.assertIn("p99/p50=25.5000", text)

    def test_latency_percentiles_are_not_throughput_percentiles_turned_over(self):
        text = self.analyzed("analyze_epoch_tail_csv.py", self.file(SINGLE + "0,1,100000000,1\n1,1,300000000,1\n"))
        self.assertIn("throughput_ops_s p50=200000000 ", text)
        self.assertIn("latency_ns_op p50=6.6667 ", text)

    def test_files_that_are_no_soaks(self):
        bad = {
            "empty.csv": "",
            "titles.csv": SINGLE,
            "columns.csv": "a,b\n1,2\n",
            "words.csv": SINGLE + "0,10,fast,1\n",
            "short.csv": SINGLE + "0,10\n",
        }
        for script in ("analyze_soak.py", "analyze_epoch_tail_csv.py"):
            for name, text in bad.items():
                with self.subTest(script=script, file=name):
                    done = run([SCRIPTS / script, self.file(text, name)])
                    self.assertEqual(done.returncode, 2)
                    self.assertIn(name, done.stderr)
                    self.assertNotIn("Traceback", done.stderr)
            self.assertEqual(run([SCRIPTS / script]).returncode, 2)
            self.assertEqual(run([SCRIPTS / script, Path(self.directory.name) / "missing"]).returncode, 2)
        zero = self.file(SINGLE + "0,10,0,1\n", "zero.csv")
        self.assertEqual(run([SCRIPTS / "analyze_epoch_tail_csv.py", zero]).returncode, 2)


if __name__ == "__main__":
    main()
