/*
 * blocks_gone: does a process grow by large blocks that come and go home?
 *
 * Blocks of 1 to 2 MiB, one at a time, eight at a time in any order, and with a small one between that stays, 20,000 of each: after each round all that is free goes
 * home (malloc_trim). What is known of addresses is 2 KiB for each 16 MiB of them, and a page of tags for each 64: a process that is
 * mapped at new addresses each time comes to 6 MiB.
 */
#include "bars.h"

#include <malloc.h>

enum { ROUNDS = 20000, AT_ONCE = 8, KEPT = 40, GROWTH_KIB = 512 };

static unsigned state = 1;

static void come_and_go(int blocks) {
    void *block[AT_ONCE];

    for (int i = 0; i < blocks; i++)
        block[i] = taken((1u << 20) + next_random(&state) % (1u << 20));
    for (int i = 0; i < blocks; i++) {
        int other = (int)(next_random(&state) % (unsigned)blocks);
        void *first = block[i];
        block[i] = block[other];
        block[other] = first;
    }
    for (int i = 0; i < blocks; i++)
        free(block[i]);
    malloc_trim(0);
}

int main(void) {
    static void *kept[KEPT];

    come_and_go(1);
    come_and_go(AT_ONCE);
    long before = rss_kib();
    for (int i = 0; i < ROUNDS; i++)
        come_and_go(1);
    long one = rss_kib();
    for (int i = 0; i < ROUNDS / AT_ONCE; i++)
        come_and_go(AT_ONCE);
    long many = rss_kib();
    for (int i = 0; i < ROUNDS; i++) {
        void **place = &kept[i / 100 % KEPT];
        if (i % 100 == 0) {
            free(*place);
            *place = taken(100);
        }
        come_and_go(1);
    }
    long with_others = rss_kib();
    dprintf(2, "resident KiB: %ld, by one block at a time +%ld, by %d +%ld, with others between +%ld\n",
            before, one - before, AT_ONCE, many - one, with_others - many);
    CHECK(with_others - before <= GROWTH_KIB);
    return 0;
}
