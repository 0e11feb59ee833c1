/*
 * no_clock: does a program live that may not read the processor's counter any more (PR_SET_TSC, which seccomp's mode 1 sets, too)?
 *
 * libc reads it for the time, which decides what goes home: in slow paths, too, as long as little rests (6 MB), by a thread of the library's when much does.
 */
#include "hostile.h"

enum { RESTS = 200000, FEW = 30000, ROUNDS = 20 };

static void rest(int count) {
    static void *blocks[RESTS];

    take_many(blocks, count, 200);
    free_many(blocks, count);
}

int main(void) {
    free(malloc(100));
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0)
        skip("the processor's counter cannot be forbidden here");
    for (int round = 0; round < ROUNDS; round++)
        rest(FEW);
    rest(RESTS);
    for (int i = 0; i < ROUNDS; i++) {
        free(memset(malloc((size_t)3 << 20), 1, (size_t)3 << 20));
        usleep(10000);
    }
    churn(7, 20000);
    malloc_trim(0);
    _exit(0);
}
