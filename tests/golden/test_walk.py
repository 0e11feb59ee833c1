"""tools/walk.py counts what it says it counts, and the house keeps its bars: malloc 40 lines, free 60, in 5 files."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(os.environ.get("TESTED_SOURCE_DIR") or Path(__file__).resolve().parents[2])

FRONT = """\
#include "inner.h"

void *malloc(size_t size) {
    /* a comment line, and a brace { in it */
    return inner(size);

}
"""
INNER = """\
static ALWAYS_INLINE unsigned class_of(size_t size) {
    return size / 16; // "not } a brace"
}

void *cold(size_t size);

static inline void *
inner(size_t size)
{
    if (class_of(size) > 3)
        return cold(size);
    return NULL;
}
"""
COLD = """\
void *cold(size_t size) {
    return class_of(size) ? helper() : NULL;
}
"""


def walk(*arguments):
    command = [sys.executable, ROOT / "tools/walk.py", *arguments]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)


class Walk(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        for name, text in (("front.c", FRONT), ("inner.h", INNER), ("cold.c", COLD)):
            Path(self.directory.name, name).write_text(text, encoding="utf-8")

    def test_counts_the_inlined_way(self):
        done = walk("--source", self.directory.name)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual([line.split()[2] for line in lines[:-1]], ["malloc", "inner", "class_of"])
        self.assertEqual([int(line.split()[0]) for line in lines[:-1]], [3, 7, 3])
        self.assertTrue(lines[-1].strip().startswith("13 lines in 2 files"), lines[-1])

    def test_too_many_lines_or_files(self):
        self.assertEqual(walk("--source", self.directory.name, "--lines", "12").returncode, 1)
        self.assertEqual(walk("--source", self.directory.name, "--files", "1").returncode, 1)

    def test_no_such_entry(self):
        self.assertEqual(walk("--source", self.directory.name, "nothing").returncode, 2)

    def test_the_bar_of_the_house(self):
        done = walk()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"\balloc_malloc\b")
        done = walk("free", "--lines", "60")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"\balloc_free\b")


if __name__ == "__main__":
    unittest.main()
