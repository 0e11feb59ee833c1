"""The golden check itself: it must complain of one instruction more, one less, a missing entry and a passed bar."""

import tempfile
import unittest
from pathlib import Path

import golden


class Faults(unittest.TestCase):
    table = {"malloc_64": 12, "free_64": 14, "calloc_64": 30}

    def test_equal_counts_are_well(self):
        self.assertEqual(golden.faults(dict(self.table), self.table, True, True), [])

    def test_one_more_or_less_is_a_fault_where_exact(self):
        for count in (11, 13):
            self.assertEqual(len(golden.faults(self.table | {"malloc_64": count}, self.table, True, True)), 1)
            self.assertEqual(golden.faults(self.table | {"malloc_64": count}, self.table, False, True), [])

    def test_a_tolerance_is_kept_and_ends(self):
        self.assertEqual(golden.faults(self.table | {"calloc_64": 33}, self.table, True, False, 0.15), [])
        self.assertEqual(len(golden.faults(self.table | {"calloc_64": 36}, self.table, True, False, 0.15)), 1)

    def test_bars(self):
        over = self.table | {"malloc_64": 17, "free_64": 19, "calloc_64": 99}
        self.assertEqual(len(golden.faults(over, self.table, False, True)), 2)
        self.assertEqual(golden.faults(over, self.table, False, False), [])

    def test_entries_must_be_the_same(self):
        self.assertEqual(len(golden.faults({"malloc_64": 12}, self.table, True, True)), 2)
        self.assertEqual(len(golden.faults(self.table | {"new_64": 1}, self.table, True, True)), 1)


class Table(unittest.TestCase):
    def test_what_is_written_is_read(self):
        columns = {"standard": {"malloc_64": 12, "free_64": 9}, "fast": {"malloc_64": 11, "free_64": 8}}
        with tempfile.TemporaryDirectory() as directory:
            kept, golden.TABLE = golden.TABLE, Path(directory) / "table"
            try:
                golden.write_table(columns)
                self.assertEqual(golden.read_table(), columns)
            finally:
                golden.TABLE = kept

    def test_the_table_of_the_house(self):
        columns = golden.read_table()
        self.assertEqual(tuple(columns), golden.VARIANTS)
        for variant in golden.BARRED:
            self.assertEqual(golden.faults(columns[variant], columns[variant], True, True), [])

    def test_standard_is_within_one_percent_of_fast(self):
        columns = golden.read_table()
        for pair in (("malloc_64", "free_64"), ("malloc_1000", "free_1000")):
            standard, fast = (sum(columns[variant][entry] for entry in pair) for variant in ("standard", "fast"))
            self.assertLessEqual(standard, 1.01 * fast)


if __name__ == "__main__":
    unittest.main()
