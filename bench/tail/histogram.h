// Counts of durations in log-linear buckets, as HdrHistogram has them.
//
// Below 4096 ticks each value has its own bucket; above, every doubling is cut into 2048, so that a bucket is never
// wider than 0.05 % of its values. Recording touches one counter and never allocates: the counters are mapped before
// the measurement, and pages of buckets that no value falls into are never touched.
#ifndef HAKMEM_BENCH_TAIL_HISTOGRAM_H
#define HAKMEM_BENCH_TAIL_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_HALF_BITS = 11, HISTOGRAM_BUCKETS = (64 - HISTOGRAM_HALF_BITS + 1) << HISTOGRAM_HALF_BITS };

struct histogram {
    uint64_t *counts;
    uint64_t largest;
};

static inline uint32_t histogram_bucket(uint64_t value) {
    if (value < 2u << HISTOGRAM_HALF_BITS)
        return (uint32_t)value;
    uint32_t shift = 63u - (uint32_t)__builtin_clzll(value) - HISTOGRAM_HALF_BITS;
    return (shift << HISTOGRAM_HALF_BITS) + (uint32_t)(value >> shift);
}

static inline void histogram_record(struct histogram *histogram, uint64_t value) {
    histogram->counts[histogram_bucket(value)]++;
    if (value > histogram->largest)
        histogram->largest = value;
}

// The smallest value of a bucket.
uint64_t histogram_lowest(uint32_t bucket);

// Maps the counters, all 0; ends the program when there is no memory.
void histogram_begin(struct histogram *histogram);

// Writes a line `[HISTOGRAM] name count=N max=TICKS`, then `LOWEST HIGHEST COUNT` for each bucket that is not empty.
void histogram_write(const struct histogram *histogram, const char *name);

#endif
