/*
 * stays: does memory that has gone home stay there?
 *
 * A heap that is large and dense asks for huge pages. Of areas where those were asked for and a few pages are in memory the kernel
 * makes huge ones again by and by (khugepaged: eight in ten seconds, as it comes), and what had gone home of them is resident again.
 * So where only a part of an area has gone home nobody may ask for them any more: that is what /proc/self/smaps says of each
 * mapping ("hg" in VmFlags). Nobody waits for the kernel here. Where all of an area is home they may be made again.
 */
#include "home.h"

enum { BLOCKS = 400000, SIZE = 240, KEPT = 2000, BAR_PERCENT = 40 };

static unsigned char *blocks[BLOCKS];

static void take_all(void) {
    for (int i = 0; i < BLOCKS; i++)
        if (!blocks[i]) {
            blocks[i] = malloc(SIZE);
            CHECK(blocks[i] != NULL);
            memset(blocks[i], 1, SIZE);
        }
}

/* KiB in memory where huge pages are asked for. */
static long huge_kib(void) {
    char line[512];
    long rss = 0, sum = 0;
    FILE *smaps = fopen("/proc/self/smaps", "re");
    CHECK(smaps != NULL);
    while (fgets(line, sizeof line, smaps)) {
        sscanf(line, "Rss: %ld", &rss);
        if (strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " hg"))
            sum += rss;
    }
    fclose(smaps);
    return sum;
}

int main(void) {
    uint32_t random = 1;
    take_all();
    if (huge_kib() == 0)
        skip("no huge pages are asked for here");
    long peak = rss_kib();
    for (int i = BLOCKS - 1; i > 0; i--) {
        random = random * 1664525 + 1013904223;
        int other = (int)(random >> 8) % (i + 1);
        unsigned char *block = blocks[i];
        blocks[i] = blocks[other];
        blocks[other] = block;
    }
    for (int i = KEPT; i < BLOCKS; i++) {
        free(blocks[i]);
        blocks[i] = NULL;
    }
    AWAIT(rss_kib() * 100 < peak * BAR_PERCENT);
    AWAIT(huge_kib() < 2048); /* the last areas follow */
    rest(1000);
    CHECK(huge_kib() < 2048);
    printf("%ld KiB at the peak, %ld left, %ld of them where huge pages are asked for\n", peak, rss_kib(),
           huge_kib());
    for (int i = 0; i < KEPT; i++) {
        free(blocks[i]);
        blocks[i] = NULL;
    }
    free(malloc(32000)); /* whoever frees calls */
    AWAIT(rss_kib() * 10 < peak);
    rest(1000);
    take_all();
    printf("%ld KiB where huge pages are asked for when it is built up again\n", huge_kib());
    CHECK(huge_kib() > 2048);
    return 0;
}
