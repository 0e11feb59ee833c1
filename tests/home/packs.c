/*
 * packs: does the beginning of a heap that has become large get huge pages, too?
 *
 * A small heap gets small pages, and only what comes after it has become large is asked for in huge ones: from HAKMEM_HUGE_FROM on, told here. While the program goes on, the
 * janitor makes huge pages of those areas that are in use and in memory as a whole; or, in a program of one thread, its slow paths, one area
 * at a time (packs alone). So they do in one of long blocks of which the first were hardly written (packs runs). Decided by what /proc/self/smaps says: nearly
 * all of the heap is in huge pages, and hardly more is resident than before.
 *
 * SKIP where the kernel cannot, or had no free huge page.
 */
#include "home.h"

enum { BLOCKS = 130000, SIZE = 240, BAR_PERCENT = 80, GROWTH_PERCENT = 4 };
enum {
    UNWRITTEN = 64,
    RUNS = 150,
    RUN = 196400
}; /* too few that are written whole for the next ones to get huge pages */

static unsigned char *blocks[BLOCKS];

static long write_blocks(int count, size_t size, size_t written) {
    for (int i = 0; i < count; i++) {
        blocks[i] = malloc(size);
        CHECK(blocks[i] != NULL);
        memset(blocks[i], 1, written);
    }
    return (long)count * (long)size / 1024;
}

int main(int argc, char **argv) {
    bool alone = argc > 1 && strcmp(argv[1], "alone") == 0, runs = argc > 1 && strcmp(argv[1], "runs") == 0;
    if (!alone)
        not_alone();
    if (!kernel_packs())
        skip("this kernel makes no huge pages of small ones");
    long refusals = huge_refusals();
    if (runs)
        write_blocks(UNWRITTEN, RUN, 1);
    long live = runs ? write_blocks(RUNS, RUN, RUN) : write_blocks(BLOCKS, SIZE, SIZE);
    long before = packed_kib(), rss = rss_kib();
    CHECK(before < live * BAR_PERCENT / 100);
    AWAIT((swing(), packed_kib() >= live * BAR_PERCENT / 100 || huge_refusals() > refusals));
    skip_if_refused(packed_kib() < live * BAR_PERCENT / 100, refusals);
    printf("%ld KiB live, in huge pages %ld, then %ld; resident %ld, then %ld\n", live, before, packed_kib(),
           rss, rss_kib());
    CHECK((janitor() == 0) == alone);
    CHECK(rss_kib() <= rss + rss * GROWTH_PERCENT / 100 + SWING_KIB);
    return 0;
}
