"""sqlite3 builds a table of 1,000,000 rows with an index, with and without the tested library; the dumps are the same.

The rows come from a recursive query with a linear congruential generator in it, so that they are the same each time;
then rows are changed and deleted through the index, which leaves free pages, and an integrity check is run.
"""

import hashlib
import os

from both import Session, need, sized

SCRIPT = """
PRAGMA journal_mode = MEMORY;
PRAGMA cache_size = -20000;
CREATE TABLE t (id INTEGER PRIMARY KEY, k INTEGER, name TEXT, data BLOB);
WITH RECURSIVE r(i, x) AS (
  SELECT 1, 12345 UNION ALL SELECT i + 1, (x * 1103515245 + 12345) % 2147483648 FROM r WHERE i < {rows})
INSERT INTO t SELECT i, x % 65536, 'name ' || (x / 65536), zeroblob(x % 20) FROM r;
CREATE INDEX ti ON t (k, name);
DELETE FROM t WHERE k BETWEEN 1000 AND 3000;
UPDATE t SET name = name || ' changed' WHERE k BETWEEN 5000 AND 5500;
SELECT count(*), sum(k), min(name), max(name) FROM t;
SELECT k, count(*), group_concat(name) FROM t WHERE k < 20 GROUP BY k;
PRAGMA integrity_check;
.dump
"""


def remove(path):
    if os.path.exists(path):
        os.remove(path)


def main():
    sqlite = need("sqlite3")
    with Session("sqlite") as session:
        script = SCRIPT.format(rows=sized(1_000_000, 150_000)).encode()
        session.both(
            [sqlite, "-batch", "-init", "/dev/null", session.path("database")],
            data=script,
            before_each=lambda: remove(session.path("database")),
            normalise=lambda output: output[:2000] + hashlib.sha256(output).digest(),
        )
        session.finish()


if __name__ == "__main__":
    main()
