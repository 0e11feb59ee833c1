#!/usr/bin/env python3
"""analyze_soak.py FILE...: what the CSV of a soak says about steadiness, a block of lines for each file.

Drift compares the mean of the last five epochs with that of the first five; RSS drift compares the last epoch with
the first.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "measure"))

from reports import report_each  # noqa: E402

from lab import csvs  # noqa: E402
from lab.steadiness import WANTED_EPOCHS, Steadiness  # noqa: E402


def report(path):
    read = csvs.read(path)
    s = Steadiness.of(read.throughput_ops_s, read.rss_mb)
    short = "" if s.epochs >= WANTED_EPOCHS else f", fewer than {WANTED_EPOCHS}: drift is understated"
    print(f"{path}: {s.epochs} epochs{short}")
    print(f"  throughput mean={s.mean:.0f} first5={s.first5:.0f} last5={s.last5:.0f} drift={s.drift:+.2f}%")
    print(f"  throughput stddev={s.stddev:.0f} CV={s.cv:.2f}%")
    memory = f"first={s.first_rss_mb:.2f} last={s.last_rss_mb:.2f} peak={s.peak_rss_mb:.2f}"
    print(f"  rss_mb {memory} drift={s.rss_drift:+.2f}%")


if __name__ == "__main__":
    report_each(report)
