/*
 * sparse_blocks: what do hundreds of large blocks cost, taken and freed again and again, of which hardly anything is touched?
 *
 * 600 blocks of 40,000 bytes, one byte of each written, 100 rounds: taken, then freed, the last one first. After ten rounds no system call
 * changes anything, and few ask how much of a block is in memory: each of them costs more than all else that a block needs.
 */
#include "calls.h"

enum {
    BLOCKS = 600,
    BLOCK = 40000,
    ROUNDS = 100,
    WARM_UP = 10,
    BAR_ASKED = (ROUNDS - WARM_UP) * BLOCKS / 60
};

static void take_and_free(void) {
    static char *blocks[BLOCKS];

    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(BLOCK);
        CHECK(blocks[i] != NULL);
        blocks[i][0] = 1;
    }
    for (int i = BLOCKS; i-- > 0;)
        free(blocks[i]);
}

int main(void) {
    struct calls before;

    setvbuf(stdout, NULL, _IOLBF, 4096);
    calls_start();
    before = calls_now();
    for (int round = 0; round < ROUNDS; round++) {
        if (round == WARM_UP)
            before = calls_now();
        take_and_free();
    }
    struct calls after = calls_now();
    unsigned long changed = calls_between(&before, &after), asked = calls_asked(&before, &after);
    printf("%d blocks, %d rounds: %lu system calls, %lu that ask\n", BLOCKS, ROUNDS - WARM_UP, changed,
           asked);
    bar_at_most("system calls", (long)changed, 0, 0);
    bar_at_most("calls that ask", (long)asked, BAR_ASKED, BAR_ASKED);
    return bars_result();
}
