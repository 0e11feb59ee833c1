/*
 * phases: is what a phase of blocks of one length has left good for blocks on the other side of 32 KiB?
 *
 * 200 blocks of 32,000 bytes are taken, written and freed, and then 200 of 40,000; and the other way round. Resident memory, in per cent of
 * what the longer ones take, is to be far from that of both.
 */
#include "bars.h"

enum { BLOCKS = 200, SHORT = 32000, LONG = 40000, BAR_PERCENT = 175 };

static void *blocks[BLOCKS];

static void take_all(size_t size) {
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(size);
        CHECK(blocks[i] != NULL);
        memset(blocks[i], 1, size);
    }
}

static int measure(int which) {
    size_t first = which == 0 ? SHORT : LONG, second = which == 0 ? LONG : SHORT;

    setvbuf(stdout, NULL, _IOLBF, 4096);
    long base = rss_kib(), longer = (long)BLOCKS * LONG / 1024;
    take_all(first);
    for (size_t i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    take_all(second);
    long percent = (rss_kib() - base) * 100 / longer;
    printf("%zu bytes, then %zu: %ld %% of the longer ones resident\n", first, second, percent);
    BAR(percent <= BAR_PERCENT, "%ld %%, at most %d", percent, BAR_PERCENT);
    return bars_result();
}

int main(void) {
    return bars_each_apart(measure, 2);
}
