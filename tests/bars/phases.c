/*
 * phases: is what a phase of blocks of one length has left good for blocks on the other side of 32 KiB?
 *
 * 200 blocks of 32,000 bytes are taken, written and freed, and then 200 of 40,000; and the other way round. Resident memory, in per cent of
 * what the longer ones take, is to be far from that of both. And of eight lengths by turns, twenty times over, no length is to have memory
 * of its own in the end.
 */
#include "bars.h"

enum { BLOCKS = 200, SHORT = 32000, LONG = 40000, TIMES = 20, BAR_PERCENT = 175, BAR_BY_TURNS = 300 };

static void *blocks[BLOCKS];

static void take_all(size_t size) {
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(size);
        CHECK(blocks[i] != NULL);
        memset(blocks[i], 1, size);
    }
}

static void free_all(void) {
    for (size_t i = 0; i < BLOCKS; i++)
        free(blocks[i]);
}

static int measure_turns(void) {
    static const size_t lengths[] = {4000, 8000, 8192, 16000, 16384, 20000, SHORT, LONG};
    long base = rss_kib(), longest = (long)BLOCKS * LONG / 1024, most = 0;

    for (unsigned time = 0; time < TIMES; time++)
        for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            take_all(lengths[i]);
            long kib = rss_kib() - base;
            most = kib > most ? kib : most;
            free_all();
        }
    long percent = most * 100 / longest;
    printf("eight lengths by turns: %ld %% of the longest ones resident\n", percent);
    BAR(percent <= BAR_BY_TURNS, "%ld %%, at most %d", percent, BAR_BY_TURNS);
    return bars_result();
}

static int measure(int which) {
    size_t first = which == 0 ? SHORT : LONG, second = which == 0 ? LONG : SHORT;

    setvbuf(stdout, NULL, _IOLBF, 4096);
    if (which == 2)
        return measure_turns();
    long base = rss_kib(), longer = (long)BLOCKS * LONG / 1024;
    take_all(first);
    free_all();
    take_all(second);
    long percent = (rss_kib() - base) * 100 / longer;
    printf("%zu bytes, then %zu: %ld %% of the longer ones resident\n", first, second, percent);
    BAR(percent <= BAR_PERCENT, "%ld %%, at most %d", percent, BAR_PERCENT);
    return bars_result();
}

int main(void) {
    return bars_each_apart(measure, 3);
}
