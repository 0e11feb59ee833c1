// The histograms' memory and their text; see histogram.h.
#include "histogram.h"

#include "../driver.h"

#include <inttypes.h>
#include <stdio.h>

void histogram_begin(struct histogram *histogram) {
    *histogram = (struct histogram){.counts = driver_memory(HISTOGRAM_BUCKETS * sizeof *histogram->counts)};
}

uint64_t histogram_lowest(uint32_t bucket) {
    if (bucket < 2u << HISTOGRAM_HALF_BITS)
        return bucket;
    uint32_t shift = (bucket >> HISTOGRAM_HALF_BITS) - 1;
    return (uint64_t)(bucket - (shift << HISTOGRAM_HALF_BITS)) << shift;
}

void histogram_write(const struct histogram *histogram, const char *name) {
    uint64_t all = 0;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        all += histogram->counts[i];
    printf("[HISTOGRAM] %s count=%" PRIu64 " max=%" PRIu64 "\n", name, all, histogram->largest);
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        if (histogram->counts[i])
            printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", histogram_lowest(i),
                   i + 1 < HISTOGRAM_BUCKETS ? histogram_lowest(i + 1) - 1 : UINT64_MAX,
                   histogram->counts[i]);
}
