/*
 * A shared table into which all threads exchange blocks: any thread may free any block, at any time.
 *
 * Eight threads on a table of 4,096 places. A step puts a new block into a random place and frees or resizes what was
 * there. Sizes are mostly small; one in 64 is up to 512 KiB, so that large blocks change hands as well.
 */
#include "home.h"

#define THREADS 8
#define PLACES 4096

static _Atomic(void *) table[PLACES];

static size_t some_size(struct test_random *random) {
    return test_size(random, test_below(random, 64) == 0 ? 19 : 11);
}

static void *run(void *argument) {
    struct stress_thread *thread = argument;
    struct test_random *random = &thread->random;
    for (size_t i = 0; i < thread->operations; i++) {
        void *block = stress_new(random, some_size(random));
        block = atomic_exchange_explicit(&table[test_below(random, PLACES)], block, memory_order_acq_rel);
        if (block == NULL)
            continue;
        if (test_below(random, 4) == 0)
            block = stress_resize(random, block, some_size(random));
        stress_free(block);
    }
    return NULL;
}

int main(int argc, char **argv) {
    size_t operations = stress_start(argc, argv, 100000);
    home_start(THREADS);
    stress_threads(0, THREADS, operations, run);
    for (size_t i = 0; i < PLACES; i++)
        stress_free(atomic_load(&table[i]));
    home_check(256);
    return 0;
}
