/*
 * sparse_callocs: does calloc of a large block that was used before touch pages that the program does not?
 *
 * Resident memory of four blocks of 16 MiB that are freed and taken again, of which one byte in each MiB is written, in another page each
 * time. System calls of a block of 3 MiB that is taken from calloc, written whole and freed, 1,000 times: none after the first ten. All
 * of both is read as zero first.
 */
#include "calls.h"

enum {
    MEBI = 1 << 20,
    BLOCKS = 4,
    SPARSE = 16 * MEBI,
    DENSE = 3 * MEBI,
    ROUNDS = 400,
    DENSE_ROUNDS = 1000,
    WARM_UP = 10
};
enum { BAR_RESIDENT = 4096 /* KiB: 64 pages of 4 KiB for each place, four times that, and their tables */ };

static void check_zero(const unsigned char *block, size_t bytes) {
    CHECK(block != NULL);
    CHECK(block[0] == 0 && memcmp(block, block + 1, bytes - 1) == 0);
}

/* One byte in each MiB. Those of the round before are where that wrote. */
static void write_some(unsigned char *block, unsigned round) {
    for (size_t at = 0; at < SPARSE; at += MEBI) {
        CHECK(block[at + round % 200 * 4096] == 0);
        block[at + (round + BLOCKS) % 200 * 4096] = 1;
    }
}

static void sparse(void) {
    static unsigned char *blocks[BLOCKS];
    long before = rss_kib();

    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned char **place = &blocks[round % BLOCKS];
        free(*place);
        *place = calloc(1, SPARSE);
        CHECK(*place != NULL);
        write_some(*place, round);
    }
    long grown = rss_kib() - before;
    printf("%d blocks of 16 MiB, a byte in each MiB: %ld KiB resident\n", BLOCKS, grown);
    bar_at_most("resident of sparse callocs", grown, BAR_RESIDENT, BAR_RESIDENT);
    free(blocks[0]);
    check_zero(calloc(1, SPARSE - 12345), SPARSE - 12345);
}

static void dense(void) {
    struct calls from = {{0}}, to;

    calls_start();
    for (int round = 0; round < DENSE_ROUNDS; round++) {
        if (round == WARM_UP)
            from = calls_now();
        unsigned char *block = calloc(1, DENSE);
        check_zero(block, DENSE);
        memset(block, 0xff, DENSE);
        free(block);
    }
    to = calls_now();
    printf("a block of 3 MiB, written whole: %lu system calls", calls_between(&from, &to));
    calls_print(&from, &to);
    puts("");
    bar_at_most("calls of dense callocs", (long)calls_between(&from, &to), 0, 0);
}

static int measure(int which) {
    setvbuf(stdout, NULL, _IOLBF, 4096);
    (which == 0 ? sparse : dense)();
    return bars_result();
}

int main(void) {
    return bars_each_apart(measure, 2);
}
