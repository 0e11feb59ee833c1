#!/usr/bin/env python3
"""analyze_epoch_tail_csv.py FILE...: the tail of a soak's epochs, a block of lines for each file.

The tail of throughput is its low side: p99 is what 99 % of the epochs reach. Latency is each epoch's ns per
operation (1e9 / throughput), its tail the high side; its percentiles are taken of those figures, they are not the
throughput percentiles turned over.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "measure"))

from reports import report_each  # noqa: E402
from settings import refuse  # noqa: E402

from lab import csvs  # noqa: E402
from lab.steadiness import PERCENTS, EpochTail  # noqa: E402


def report(path):
    try:
        tail = EpochTail.of(csvs.read(path).throughput_ops_s)
    except ValueError as error:
        refuse(f"{path}: {error}")
    low = [f"p{percent:g}={value:.0f}" for percent, value in zip(PERCENTS, tail.throughput_ops_s)]
    high = [f"p{percent:g}={value:.4f}" for percent, value in zip(PERCENTS, tail.latency_ns)]
    print(f"{path}: {tail.epochs} epochs")
    print(f"  throughput_ops_s {' '.join(low)}")
    print(f"  latency_ns_op {' '.join(high)}")
    print(f"  latency p99/p50={tail.p99_to_p50:.4f} stddev/mean={tail.cv:.2f}%")


if __name__ == "__main__":
    report_each(report)
