/*
 * huge_pages: is memory that is written whole faulted by the huge page, and memory that is not, left in small ones?
 *
 * Blocks of 16 MiB that are all written, kept; and a vector that doubles to 256 MiB and is written as it grows: page faults. And
 * as many blocks of which one byte in each 64 KiB is written: resident memory over what was touched. Each in a process of its own.
 *
 * SKIP where the kernel makes no huge pages on request, or makes them unasked.
 */
#include "bars.h"

enum { MEBI = 1 << 20, PAGE = 4096, BLOCK = 16 * MEBI, BLOCKS = 16, STRIDE = 64 << 10, SMALL = BLOCK / PAGE };
/* Faults: those of one block in small pages, which tells; of the rest one for each huge page; and a quarter of a block more. */
enum { BAR_WHOLE = SMALL + SMALL / 4 + BLOCKS * BLOCK / (2 * MEBI), BAR_VECTOR = SMALL / 2 };
/* Percent: resident of what was touched. */
enum { BAR_SPARSE = 110 };

static unsigned char *blocks[BLOCKS];

static void whole(void) {
    long before = page_faults();

    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(BLOCK);
        CHECK(blocks[i] != NULL);
        memset(blocks[i], 1, BLOCK);
    }
    long count = page_faults() - before;
    printf("%d blocks of 16 MiB, written whole: %ld page faults, in small pages %d\n", BLOCKS, count,
           BLOCKS * SMALL);
    bar_at_most("blocks written whole", count, BAR_WHOLE, BAR_WHOLE);
}

static void vector(void) {
    unsigned char *bytes = NULL;
    long before = page_faults();

    for (size_t size = 16, written = 0; size <= 256 * (size_t)MEBI; written = size, size *= 2) {
        bytes = realloc(bytes, size);
        CHECK(bytes != NULL);
        memset(bytes + written, 1, size - written);
    }
    long count = page_faults() - before;
    printf("a vector that doubles to 256 MiB: %ld page faults, in small pages %d\n", count,
           256 * MEBI / PAGE);
    bar_at_most("a vector", count, BAR_VECTOR, BAR_VECTOR);
    free(bytes);
}

static void sparse(void) {
    long before = rss_kib(), touched = BLOCKS * (BLOCK / STRIDE) * (PAGE / 1024);

    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(BLOCK);
        CHECK(blocks[i] != NULL);
        for (size_t at = 0; at < BLOCK; at += STRIDE)
            blocks[i][at] = 1;
    }
    long percent = (rss_kib() - before) * 100 / touched;
    printf("%d blocks of 16 MiB, a byte in each 64 KiB: %ld %% of the touched pages are resident\n", BLOCKS,
           percent);
    bar_at_most("blocks written here and there", percent, BAR_SPARSE, BAR_SPARSE);
}

static int measure(int which) {
    static void (*const measures[])(void) = {whole, vector, sparse};

    setvbuf(stdout, NULL, _IOLBF, 4096);
    measures[which]();
    return bars_result();
}

static void require_huge_pages(void) {
    if (strstr(text_of("/sys/kernel/mm/transparent_hugepage/enabled"), "[madvise]") == NULL)
        skip("the kernel makes no huge pages on request, or makes them unasked");
}

int main(void) {
    require_huge_pages();
    return bars_each_apart(measure, 3);
}
