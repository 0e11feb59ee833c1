"""scripts/cache_misses_mixed.sh: what it reads, which caches it simulates, its table and its JSON, and hakmem's place."""

import json
import shutil
import tempfile
import unittest
from pathlib import Path

from support import LIBRARY, SCRIPTS, SYSTEM, main, run

import cache_misses

SCRIPT = SCRIPTS / "cache_misses_mixed.sh"
WORDS = """==7== I   refs:      9,000
==7== D   refs:      75,146,962  (43,230,783 rd + 31,916,179 wr)
==7== D1  misses:     1,803,340  ( 1,200,995 rd +    602,345 wr)
==7== LLd misses:           594  (       546 rd +         48 wr)
==7== D1  miss rate:        2.4% (       2.8%     +       1.9%  )
"""


def cache(root, index, **files):
    directory = Path(root) / f"index{index}"
    directory.mkdir()
    for name, text in files.items():
        (directory / name).write_text(f"{text}\n", encoding="utf-8")


class Parts(unittest.TestCase):
    def test_the_counts_of_cachegrind(self):
        self.assertEqual(cache_misses.parsed(WORDS), {"references": 75146962, "d1": 1803340, "ll": 594})

    def test_words_without_a_count(self):
        for name in ("D   refs", "D1  misses", "LLd misses"):
            self.assertIsNone(cache_misses.parsed(WORDS.replace(name, "other")))

    def test_a_power_of_two_of_sets(self):
        self.assertEqual(cache_misses.simulated(49152, 12, 64), "49152,12,64")
        self.assertEqual(cache_misses.simulated(110100480, 15, 64), "109051904,26,64")

    def test_the_first_data_cache_and_the_last(self):
        with tempfile.TemporaryDirectory() as root:
            line = {"coherency_line_size": 64}
            cache(root, 0, type="Data", level=1, size="32K", ways_of_associativity=8, **line)
            cache(root, 1, type="Instruction", level=1, size="64K", ways_of_associativity=8, **line)
            cache(root, 2, type="Unified", level=3, size="8192K", ways_of_associativity=16, **line)
            cache(root, 3, type="Unified", level=2, size="512K", ways_of_associativity=8, **line)
            cache(root, 4, type="Unified", level=4)
            self.assertEqual(cache_misses.machine_caches(Path(root)), ("32768,8,64", "8388608,16,64"))

    def test_a_kernel_that_does_not_say(self):
        with tempfile.TemporaryDirectory() as root:
            self.assertEqual(cache_misses.machine_caches(Path(root)), (None, None))


class Script(unittest.TestCase):
    small = {"ITERS": 2000, "D1": "4096,4,64", "LL": "65536,8,64"}

    def test_bad_words(self):
        for name, value in (("D1", "48K"), ("LL", "1,2"), ("ITERS", "0"), ("WS", "none")):
            done = run([SCRIPT, SYSTEM], **self.small | {"WS": 50, name: value})
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertNotIn("Traceback", done.stderr)

    @unittest.skipUnless(shutil.which("valgrind"), "no valgrind (Debian: valgrind)")
    def test_the_table(self):
        done = run([SCRIPT, f"glibc={SYSTEM}"], WS="50 60", **self.small)
        self.skip_where_valgrind_does_not_run(done)
        self.assertEqual(done.returncode, 0, done.stderr)
        for working_set in (50, 60):
            self.assertIn(f"WS={working_set}, 2000 operations; D1=4096,4,64, LL=65536,8,64\n", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^glibc( +-?\d+\.\d{3}){4}$")

    # A heap far above D1: what separates them is how often a call touches a block or its neighbourhood.
    @unittest.skipUnless(shutil.which("valgrind"), "no valgrind (Debian: valgrind)")
    def test_the_net_is_without_the_loop_and_hakmem_misses_less_than_glibc(self):
        asked = self.small | {"ITERS": 50000, "WS": 10000}
        done = run([SCRIPT, "--json", f"tested={LIBRARY}", f"glibc={SYSTEM}"], **asked)
        self.skip_where_valgrind_does_not_run(done)
        self.assertEqual(done.returncode, 0, done.stderr)
        (record,) = json.loads(done.stdout)
        self.assertEqual(record["caches"], {"D1": "4096,4,64", "LL": "65536,8,64"})
        tested, glibc = record["allocators"]
        for row in (tested, glibc):
            for name, net in row["net"].items():
                self.assertAlmostEqual(net, row["with_loop"][name] - record["loop"][name])
        self.assertGreater(tested["net"]["d1"], 0)
        self.assertLess(tested["net"]["d1"], glibc["net"]["d1"])

    def skip_where_valgrind_does_not_run(self, done):
        if done.returncode == 2 and "valgrind does not run here" in done.stderr:
            self.skipTest("valgrind does not run here")


if __name__ == "__main__":
    main()
