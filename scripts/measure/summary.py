"""What a list of figures says: mean, spread, percentiles, drift, and how sure a median is."""

import random
import statistics


class Summary:
    """Mean, median, smallest, largest, standard deviation of the sample, coefficient of variation in percent."""

    def __init__(self, values):
        self.values = list(values)
        self.mean = statistics.fmean(self.values)
        self.median = statistics.median(self.values)
        self.min, self.max = min(self.values), max(self.values)
        self.stddev = statistics.stdev(self.values) if len(self.values) > 1 else 0.0
        self.cv = 100 * self.stddev / self.mean if self.mean else 0.0


def percentile(values, percent):
    """Linear between the two neighbours in rank, as most tools do; percent in 0..100."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def bootstrap_interval(values, confidence=95, draws=4000, seed=1):
    """The interval of the median: its percentiles over samples drawn again with replacement."""
    source = random.Random(seed)
    medians = [statistics.median(source.choices(values, k=len(values))) for _ in range(draws)]
    tail = (100 - confidence) / 2
    return percentile(medians, tail), percentile(medians, 100 - tail)


def drift_percent(first, last):
    return 100 * (last - first) / first if first else 0.0
