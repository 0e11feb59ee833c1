/*
 * hardly_touched: what does a large heap hold for blocks of which only the first bytes are ever written?
 *
 * So buffers of connections that say little, and tables that are made for more than comes. 30 MB of small blocks, all written, then 24 MB
 * (of addresses; a byte of each is written) of blocks of one length, then a little more that is written. What is resident beyond the small ones may
 * be at most so many KiB for each block, for its first page and what the records take, and what slabs have begun beside.
 */
#include "bars.h"

enum { SMALL = 300000, MORE = 60000, ADDRESSES = 24000000, BAR_EACH_KIB = 5, BAR_BESIDE_KIB = 1000 };
static const size_t lengths[] = {9000, 11000, 16384, 20000, 32768, 36000, 65552, 118896, 200000, 600000};

/* In a process of its own. */
static int measure(int which) {
    size_t length = lengths[which], count = ADDRESSES / length;
    take_small(SMALL);
    long before = rss_kib();
    for (size_t i = 0; i < count; i++)
        written(length, 1);
    size_t more = take_small(MORE);
    long kib = rss_kib() - before - (long)(more / 1024), bar = (long)count * BAR_EACH_KIB + BAR_BESIDE_KIB;
    printf("%zu blocks of %zu bytes: %ld KiB beside the small ones\n", count, length, kib);
    BAR(kib <= bar, "%zu blocks of %zu bytes: %ld KiB, %ld may be", count, length, kib, bar);
    return bars_result();
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 4096);
    return bars_each_apart(measure, sizeof lengths / sizeof lengths[0]);
}
