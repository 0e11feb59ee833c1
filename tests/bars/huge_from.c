/*
 * huge_from: does HAKMEM_HUGE_FROM say from which size on a heap gets huge pages?
 *
 * Page faults of 6 MiB of blocks of 240 bytes, all written, in a process of its own each: with the default, by which that is a small
 * heap in small pages; with 4m, of which the second superslab is in huge pages; with 0, in huge pages from the first byte on; and with 0
 * but without huge pages.
 *
 * SKIP where the kernel makes no huge pages on request, or makes them unasked.
 */
#include "bars.h"

enum { MEBI = 1 << 20, PAGE = 4096, SIZE = 240, BLOCKS = 6 * MEBI / SIZE, SMALL = 6 * MEBI / PAGE };

static int worker(void) {
    long before = page_faults();
    for (int i = 0; i < BLOCKS; i++) {
        unsigned char *block = malloc(SIZE);
        CHECK(block != NULL);
        memset(block, 1, SIZE);
    }
    dprintf(1, "%ld\n", page_faults() - before);
    return 0;
}

static long faults(const char *from, const char *pages) {
    static struct ran ran;
    static char word[] = "worker";

    run(&ran, (char *[]){self_path(), word, NULL}, (const char *const[]){from, pages, NULL}, NULL);
    CHECK(ran.status == 0);
    long count = strtol(ran.text, NULL, 10);
    printf("%s, %s: %ld page faults, in small pages %d\n", from, pages, count, SMALL);
    return count;
}

int main(int argc, char **argv) {
    if (is_worker(argc, argv))
        return worker();
    setvbuf(stdout, NULL, _IOLBF, 4096);
    if (strstr(text_of("/sys/kernel/mm/transparent_hugepage/enabled"), "[madvise]") == NULL)
        skip("the kernel makes no huge pages on request, or makes them unasked");
    long as_it_is = faults("HAKMEM_HUGE_FROM=12m", "HAKMEM_HUGE_PAGES=1");
    BAR(as_it_is >= SMALL, "a small heap got huge pages");
    bar_at_most("page faults from 4m on", faults("HAKMEM_HUGE_FROM=4m", "HAKMEM_HUGE_PAGES=1"), SMALL * 3 / 4,
                SMALL * 3 / 4);
    bar_at_most("page faults from the first byte on", faults("HAKMEM_HUGE_FROM=0", "HAKMEM_HUGE_PAGES=1"),
                SMALL / 10, SMALL / 10);
    BAR(faults("HAKMEM_HUGE_FROM=0", "HAKMEM_HUGE_PAGES=0") >= SMALL, "HAKMEM_HUGE_PAGES=0 is none");
    return bars_result();
}
