/*
 * Blocks that grow and shrink while they change hands.
 *
 * Six threads share a table. A step takes a block out of it, resizes it (small steps, doublings, and jumps between
 * small blocks, runs and mappings of their own up to 3 MiB) and puts it into another place. The content is checked
 * before and after each resize.
 */
#include "home.h"

#define THREADS 6
#define PLACES 96

static _Atomic(void *) table[PLACES];

static size_t next_size(struct test_random *random, size_t size) {
    switch (test_below(random, 8)) {
    case 0:
        return test_size(random, 10);
    case 1:
        return test_below(random, 16) == 0 ? test_below(random, (size_t)3 << 20) : test_size(random, 17);
    case 2:
    case 3:
        return size < ((size_t)1 << 20) ? 2 * size : size / 3;
    case 4:
        return size / 2;
    default:
        return size + test_below(random, 64);
    }
}

static void *run(void *argument) {
    struct stress_thread *thread = argument;
    struct test_random *random = &thread->random;
    for (size_t i = 0; i < thread->operations; i++) {
        void *block =
            atomic_exchange_explicit(&table[test_below(random, PLACES)], NULL, memory_order_acq_rel);
        if (block == NULL) {
            block = stress_new(random, test_size(random, 10));
        } else {
            size_t size = stress_check(block, SIZE_MAX, "taken");
            block = stress_resize(random, block, next_size(random, size));
        }
        block = atomic_exchange_explicit(&table[test_below(random, PLACES)], block, memory_order_acq_rel);
        stress_free(block);
    }
    return NULL;
}

int main(int argc, char **argv) {
    size_t operations = stress_start(argc, argv, 40000);
    home_start(THREADS);
    stress_threads(0, THREADS, operations, run);
    for (size_t i = 0; i < PLACES; i++)
        stress_free(atomic_load(&table[i]));
    home_check(400);
    return 0;
}
