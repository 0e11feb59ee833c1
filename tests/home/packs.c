/*
 * packs: does the beginning of a heap that has become large get huge pages, too?
 *
 * A small heap gets small pages, and only what comes after it has become large is asked for in huge ones. While the program goes on, the
 * janitor makes huge pages of those areas that are in use and in memory as a whole. Decided by what /proc/self/smaps says: nearly
 * all of the heap is in huge pages, and hardly more is resident than before.
 *
 * SKIP where the kernel cannot, or had no free huge page.
 */
#include "home.h"

enum { BLOCKS = 130000, SIZE = 240, SWING = 8000, BAR_PERCENT = 80, GROWTH_PERCENT = 4 };

static unsigned char *blocks[BLOCKS], *more[SWING];

/* Of all anonymous memory. */
static long huge_kib(void) {
    return rollup_kib("AnonHugePages:");
}

/* Whoever frees a MiB wakes the janitor. */
static void swing(void) {
    for (int i = 0; i < SWING; i++) {
        more[i] = malloc(SIZE);
        CHECK(more[i] != NULL);
        memset(more[i], 1, SIZE);
    }
    for (int i = 0; i < SWING; i++)
        free(more[i]);
}

/* Can this kernel make a huge page of small ones? */
static bool kernel_can(void) {
    const size_t bytes = 2 * MIB;
    unsigned char *area = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED);
    unsigned char *start = (unsigned char *)(((uintptr_t)area + bytes - 1) & ~(bytes - 1));
    memset(start, 1, bytes);
    bool can = madvise(start, bytes, 25 /* MADV_COLLAPSE */) == 0;
    munmap(area, 2 * bytes);
    return can;
}

int main(void) {
    if (!kernel_can())
        skip("this kernel makes no huge pages of small ones");
    long refusals = huge_refusals();
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(SIZE);
        CHECK(blocks[i] != NULL);
        memset(blocks[i], 1, SIZE);
    }
    long live = (long)BLOCKS * SIZE / 1024, before = huge_kib(), rss = rss_kib();
    CHECK(before < live * BAR_PERCENT / 100);
    AWAIT((swing(), huge_kib() >= live * BAR_PERCENT / 100 || huge_refusals() > refusals));
    skip_if_refused(huge_kib() < live * BAR_PERCENT / 100, refusals);
    printf("%ld KiB live, in huge pages %ld, then %ld; resident %ld, then %ld\n", live, before, huge_kib(),
           rss, rss_kib());
    CHECK(rss_kib() <= rss + rss * GROWTH_PERCENT / 100 + SWING * SIZE / 1024);
    return 0;
}
