/*
 * bursts: is the memory of a burst good for other classes at once?
 *
 * 1,000,000 blocks of 64 bytes are taken, written and freed: the last first, the first first, or in random order. Then
 * as many bytes are taken in blocks of 1,024 bytes, and, in another process, of 100,000 bytes. The peak of resident
 * memory may rise by less than a tenth.
 */
#include "bars.h"

enum { BLOCKS = 1000000, BLOCK = 64, BAR_PERCENT = 10 };
enum order { LAST_FIRST, FIRST_FIRST, RANDOM, ORDERS };

static const char *const order_names[ORDERS] = {"last first", "first first", "random"};
static const size_t next_sizes[] = {1024, 100000};
static void *blocks[BLOCKS];

static void take_all(size_t count, size_t size) {
    for (size_t i = 0; i < count; i++) {
        blocks[i] = malloc(size);
        CHECK(blocks[i] != NULL);
        memset(blocks[i], 1, size);
    }
}

static void free_all(enum order order) {
    if (order == RANDOM)
        shuffle(blocks, BLOCKS, 1);
    for (size_t i = 0; i < BLOCKS; i++)
        free(blocks[order == LAST_FIRST ? BLOCKS - 1 - i : i]);
}

static int measure(int which) {
    enum order order = (enum order)(which / 2);
    size_t size = next_sizes[which % 2];

    setvbuf(stdout, NULL, _IOLBF, 4096);
    memset(blocks, 1, sizeof blocks);
    long base = rss_kib();
    take_all(BLOCKS, BLOCK);
    long first = rss_kib() - base;
    free_all(order);
    long between = rss_kib() - base;
    take_all((size_t)BLOCKS * BLOCK / size, size);
    long second = rss_kib() - base;
    printf("%-11s then blocks of %6zu: %ld KiB resident, %ld when freed, %ld with the others (%+ld %%)\n",
           order_names[order], size, first, between, second, (second - first) * 100 / first);
    bar_at_most("per cent more", (second - first) * 100 / first, BAR_PERCENT, BAR_PERCENT);
    return bars_result();
}

int main(void) {
    return bars_each_apart(measure, ORDERS * 2);
}
