/*
 * exit_live_blocks: do blocks outlive the thread that made them?
 *
 * In each round four threads make blocks of every size class and some large ones, and end. The blocks must
 * keep their content; the main thread and a later thread free them, each a half. 40 rounds must not need
 * more memory than a few rounds did.
 */
#include "lifecycle.h"

enum { THREADS = 4, BLOCKS = 600, ROUNDS = 40, WARM_UP = 8, GROWTH_KIB = 32 << 10 };

struct yield {
    void *blocks[BLOCKS];
    unsigned seed;
};

static size_t size_of(unsigned seed, int i) {
    return i % 100 == 99 ? (size_t)(70000 + i * 3000) : (size_t)((unsigned)i * 53u + seed) % 4096 + 1;
}

static unsigned char mark_of(unsigned seed, int i) {
    return (unsigned char)(seed * 7 + (unsigned)i + 1);
}

static void *make_blocks(void *argument) {
    struct yield *yield = argument;

    for (int i = 0; i < BLOCKS; i++) {
        yield->blocks[i] = malloc(size_of(yield->seed, i));
        CHECK(yield->blocks[i] != NULL);
        fill(yield->blocks[i], size_of(yield->seed, i), mark_of(yield->seed, i));
    }
    return NULL;
}

static void free_blocks(struct yield *yield, int parity) {
    for (int i = parity; i < BLOCKS; i += 2) {
        verify(yield->blocks[i], size_of(yield->seed, i), mark_of(yield->seed, i));
        free(yield->blocks[i]);
    }
}

static void *free_odd_blocks(void *argument) {
    struct yield *yields = argument;

    for (int t = 0; t < THREADS; t++)
        free_blocks(&yields[t], 1);
    return NULL;
}

static void one_round(unsigned round) {
    static struct yield yields[THREADS];
    pthread_t threads[THREADS];

    for (unsigned t = 0; t < THREADS; t++) {
        yields[t].seed = round * THREADS + t;
        threads[t] = start_thread(make_blocks, &yields[t]);
    }
    for (int t = 0; t < THREADS; t++)
        join_thread(threads[t]);
    for (int t = 0; t < THREADS; t++)
        free_blocks(&yields[t], 0);
    join_thread(start_thread(free_odd_blocks, yields));
}

int main(void) {
    long before = 0;

    for (unsigned round = 0; round < ROUNDS; round++) {
        if (round == WARM_UP)
            before = status_kib("VmRSS:");
        one_round(round);
    }
    long after = status_kib("VmRSS:");
    if (before > 0)
        CHECK(after - before < GROWTH_KIB);
    return 0;
}
