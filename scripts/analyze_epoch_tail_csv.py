#!/usr/bin/env python3
"""analyze_epoch_tail_csv.py FILE...: the tail of a soak's epochs, a block of lines for each file.

The tail of throughput is its low side: p99 is what 99 % of the epochs reach. Latency is each epoch's ns per
operation (1e9 / throughput), its tail the high side; its percentiles are taken of those figures, they are not the
throughput percentiles turned over.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "measure"))

import soak_csv  # noqa: E402
from settings import refuse  # noqa: E402
from summary import Summary, percentile  # noqa: E402

PERCENTS = (50, 90, 99, 99.9)


def report(path):
    throughput, _ = soak_csv.read(path)
    if min(throughput) <= 0:
        refuse(f"{path}: a throughput is not above 0")
    latency = [1e9 / value for value in throughput]
    low = [f"p{percent:g}={percentile(throughput, 100 - percent):.0f}" for percent in PERCENTS]
    high = [f"p{percent:g}={percentile(latency, percent):.4f}" for percent in PERCENTS]
    ratio = percentile(latency, 99) / percentile(latency, 50)
    print(f"{path}: {len(throughput)} epochs")
    print(f"  throughput_ops_s {' '.join(low)}")
    print(f"  latency_ns_op {' '.join(high)}")
    print(f"  latency p99/p50={ratio:.4f} stddev/mean={Summary(latency).cv:.2f}%")


def main():
    if len(sys.argv) < 2:
        refuse("at least one CSV file of a soak")
    for path in sys.argv[1:]:
        report(path)


if __name__ == "__main__":
    main()
