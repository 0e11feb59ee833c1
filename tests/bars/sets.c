/*
 * sets: do the first lines of blocks lie in few sets of a cache?
 *
 * Told by addresses, for a cache of SETS sets of lines of 64 bytes, which is a way of most second-level caches. 4,000 blocks of each of
 * eleven sizes, of one class at a time; the bar is how many more of them the eight sets that have most of them get than all have in the
 * mean. Blocks that all begin at multiples of 512 bytes have eight times as many.
 */
#include "bars.h"

enum { BLOCKS = 4000, LINE = 64, SETS = 1024, FULLEST = 8, MOST = 6 };

static const size_t sizes[] = {256, 500, 512, 1000, 1024, 1536, 2048, 2560, 3072, 4400, 6000};

static int descending(const void *a, const void *b) {
    return (int)*(const unsigned *)b - (int)*(const unsigned *)a;
}

static double crowding(size_t size) {
    static unsigned char *blocks[BLOCKS];
    unsigned in_set[SETS] = {0}, most = 0;

    for (int i = 0; i < BLOCKS; i++) {
        CHECK((blocks[i] = malloc(size)) != NULL);
        blocks[i][0] = 1;
        in_set[(uintptr_t)blocks[i] / LINE % SETS]++;
    }
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    qsort(in_set, SETS, sizeof in_set[0], descending);
    for (int i = 0; i < FULLEST; i++)
        most += in_set[i];
    return (double)most / FULLEST / ((double)BLOCKS / SETS);
}

int main(void) {
    double worst = 0;

    setvbuf(stdout, NULL, _IOLBF, 4096);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        double times = crowding(sizes[i]);
        printf("blocks of %zu bytes: %.1f times the mean in the fullest sets\n", sizes[i], times);
        worst = times > worst ? times : worst;
    }
    BAR(worst <= MOST, "%.1f times the mean, at most %d", worst, MOST);
    return bars_result();
}
