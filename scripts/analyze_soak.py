#!/usr/bin/env python3
"""analyze_soak.py FILE...: what the CSV of a soak says about steadiness, a block of lines for each file.

Drift compares the mean of the last five epochs with that of the first five; RSS drift compares the last epoch with
the first.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "measure"))

import soak_csv  # noqa: E402
from settings import refuse  # noqa: E402
from summary import Summary, drift_percent  # noqa: E402

ENDS = 5


def report(path):
    throughput, rss = soak_csv.read(path)
    s = Summary(throughput)
    first, last = Summary(throughput[:ENDS]).mean, Summary(throughput[-ENDS:]).mean
    print(f"{path}: {len(throughput)} epochs")
    print(f"  throughput mean={s.mean:.0f} first5={first:.0f} last5={last:.0f} drift={drift_percent(first, last):+.2f}%")
    print(f"  throughput stddev={s.stddev:.0f} CV={s.cv:.2f}%")
    drift = drift_percent(rss[0], rss[-1])
    print(f"  rss_mb first={rss[0]:.2f} last={rss[-1]:.2f} peak={max(rss):.2f} drift={drift:+.2f}%")


def main():
    if len(sys.argv) < 2:
        refuse("at least one CSV file of a soak")
    for path in sys.argv[1:]:
        report(path)


if __name__ == "__main__":
    main()
