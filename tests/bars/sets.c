/*
 * sets: do the first lines of blocks lie in few sets of a cache?
 *
 * Told by addresses, for a cache of SETS sets of lines of 64 bytes, which is a way of most second-level caches. 4,000 blocks of each of
 * many sizes, of one at a time; the bar is how many more of them the eight sets that have most of them get than all have in the
 * mean. Blocks that all begin at multiples of 512 bytes have eight times as many. Where a slab has few, or a large block little room, more may
 * meet.
 */
#include "bars.h"

enum { BLOCKS = 4000, LINE = 64, SETS = 1024, FULLEST = 8, MOST = 6, LONG_MOST = 14 };

static const size_t sizes[] = {256,   500,   512,   1000,  1024,  1536,  2048,  2300,  2560,  3000,
                               3072,  4000,  4096,  4400,  6000,  8000,  8192,  9000,  10000, 12000,
                               12288, 16000, 16384, 20000, 24000, 28000, 30000, 32000, 32768};
static const size_t long_sizes[] = {40000, 40960, 50000, 69632, 80000, 100000, 102400, 200000};

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

static double worst_of(const size_t *some, size_t count) {
    double worst = 0;
    for (size_t i = 0; i < count; i++) {
        double times = crowding(some[i]);
        printf("blocks of %zu bytes: %.1f times the mean in the fullest sets\n", some[i], times);
        worst = times > worst ? times : worst;
    }
    return worst;
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 4096);
    double worst = worst_of(sizes, sizeof sizes / sizeof sizes[0]);
    BAR(worst <= MOST, "%.1f times the mean, at most %d", worst, MOST);
    worst = worst_of(long_sizes, sizeof long_sizes / sizeof long_sizes[0]);
    BAR(worst <= LONG_MOST, "%.1f times the mean of long ones, at most %d", worst, LONG_MOST);
    return bars_result();
}
