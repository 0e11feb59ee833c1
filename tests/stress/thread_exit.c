/*
 * Threads that end with live blocks, generation after generation.
 *
 * Each generation of six threads frees what it finds in the shared table, most of it allocated by threads that have
 * ended, leaves new blocks there and ends. So blocks outlive their threads, heaps are left idle while others free into
 * them, their slabs are adopted, and new threads take the heaps again. The table bounds what is live; the bound on
 * memory sees heaps or slabs that are never used again.
 */
#include "home.h"

#define THREADS 6
#define PLACES 2048

static _Atomic(void *) table[PLACES];

static void *run(void *argument) {
    struct stress_thread *thread = argument;
    struct test_random *random = &thread->random;
    void *own[32] = {NULL};
    for (size_t i = 0; i < thread->operations; i++) {
        size_t place = test_below(random, PLACES);
        void *block = stress_new(random, test_size(random, 13));
        stress_free(atomic_exchange_explicit(&table[place], block, memory_order_acq_rel));
        void **mine = &own[test_below(random, 32)];
        stress_free(*mine);
        *mine = stress_new(random, test_size(random, 9));
    }
    for (size_t i = 0; i < 32; i++)
        stress_free(
            atomic_exchange_explicit(&table[test_below(random, PLACES)], own[i], memory_order_acq_rel));
    return NULL;
}

int main(int argc, char **argv) {
    size_t generations = stress_start(argc, argv, 120);
    home_start(THREADS);
    for (size_t generation = 0; generation < generations; generation++)
        stress_threads((unsigned)generation * THREADS, THREADS, 1500, run);
    for (size_t i = 0; i < PLACES; i++)
        stress_free(atomic_load(&table[i]));
    home_check(80);
    return 0;
}
