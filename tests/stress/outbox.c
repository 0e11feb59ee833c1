/*
 * Blocks held back for others, whatever their owners and freers do meanwhile.
 *
 * A thread keeps what it frees of other threads' blocks and sends it in batches. So each round runs eight threads in
 * roles drawn from the seed: some only allocate, some only free, some do both, some end with blocks held back, some end
 * with live blocks, some sleep between, and one purges. All meet in one table. Bursts of neighbours are freed in order,
 * in the opposite order and shuffled, by one thread and by several; some blocks are so large that a few fill an outbox,
 * others so small that it takes as many as it holds. Some threads never allocate at all.
 *
 * Contents are checked at every free. At the end every block must have come home: what a thread forgets when it ends,
 * or what is sent to an owner that is gone, keeps its slab from becoming empty.
 */
#include "home.h"

#include <time.h>

#define THREADS 8
#define PLACES 4096
#define BURST 600

enum role { ALLOCATES, FREES, DOES_BOTH, BURSTS, DRAINS, SLEEPS, PURGES, ROLES };

static _Atomic(void *) table[PLACES];
static void *left[THREADS];
static _Thread_local void *pending;

static void nap(void) {
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

static void *take(size_t place) {
    return atomic_exchange_explicit(&table[place % PLACES], NULL, memory_order_acq_rel);
}

/* False when the place is full: then the block stays with the caller. */
static bool put(size_t place, void *block) {
    void *empty = NULL;
    return atomic_compare_exchange_strong_explicit(&table[place % PLACES], &empty, block,
                                                   memory_order_acq_rel, memory_order_relaxed);
}

static size_t some_size(struct test_random *random) {
    switch (test_below(random, 8)) {
    case 0:
        return 8192 + test_below(random, 24576);
    case 1:
        return test_size(random, 17);
    default:
        return STRESS_HEADER + test_below(random, 500);
    }
}

/* Never frees: what finds no place is tried again with the next, and the last one is left to the main thread. */
static void only_allocate(struct test_random *random, size_t times) {
    for (size_t i = 0; i < times; i++) {
        if (pending == NULL)
            pending = stress_new(random, some_size(random));
        if (put(test_below(random, PLACES), pending))
            pending = NULL;
    }
}

static void only_free(struct test_random *random, size_t times) {
    for (size_t i = 0; i < times; i++)
        stress_free(take(test_below(random, PLACES)));
}

static void do_both(struct test_random *random, size_t times) {
    for (size_t i = 0; i < times; i++) {
        void *block = stress_new(random, some_size(random));
        if (!put(test_below(random, PLACES), block))
            stress_free(block);
        stress_free(take(test_below(random, PLACES)));
    }
}

/* Neighbours of one size in neighbouring places: who drains these finds runs of them. */
static void allocate_bursts(struct test_random *random, size_t times) {
    for (size_t done = 0; done < times; done += BURST) {
        size_t size = some_size(random), place = test_below(random, PLACES);
        for (size_t i = 0; i < BURST; i++) {
            void *block = stress_new(random, size);
            if (!put(place + i, block))
                stress_free(block);
        }
    }
}

/* Frees what lies side by side: upwards, downwards, or with a stride. */
static void drain_bursts(struct test_random *random, size_t times) {
    static const size_t strides[] = {1, PLACES - 1, 7, 64};
    for (size_t done = 0; done < times; done += BURST) {
        size_t place = test_below(random, PLACES), stride = strides[test_below(random, 4)];
        for (size_t i = 0; i < BURST; i++)
            stress_free(take(place + i * stride));
    }
}

/* Allocates and frees a little, and lets the others free its blocks while it does nothing. */
static void sleep_between(struct test_random *random, size_t times) {
    for (size_t done = 0; done < times; done += BURST) {
        only_allocate(random, BURST / 2);
        nap();
        only_free(random, BURST / 2);
        nap();
    }
}

static void purge_between(struct test_random *random, size_t times) {
    size_t (*purge)(void) = HOME_FUNCTION(hakmem_purge);
    for (size_t done = 0; done < times; done += BURST) {
        only_free(random, BURST / 4);
        if (purge != NULL)
            purge();
    }
}

static void *run(void *argument) {
    static void (*const roles[ROLES])(struct test_random *, size_t) = {
        [ALLOCATES] = only_allocate, [FREES] = only_free,     [DOES_BOTH] = do_both,
        [BURSTS] = allocate_bursts,  [DRAINS] = drain_bursts, [SLEEPS] = sleep_between,
        [PURGES] = purge_between};
    struct stress_thread *thread = argument;
    unsigned place = thread->number % THREADS;
    /* Every round has somebody who allocates and somebody who frees; the others are what the seed says. */
    enum role role = place == 0   ? BURSTS
                     : place == 1 ? DRAINS
                                  : (enum role)test_below(&thread->random, ROLES);
    /* Some end early, with whatever they hold back. */
    size_t share = 1 + test_below(&thread->random, 8);
    roles[role](&thread->random, thread->operations * share / 8);
    left[place] = pending;
    return NULL;
}

int main(int argc, char **argv) {
    size_t rounds = stress_start(argc, argv, 60);
    struct test_random random = {.state = test_mix(test_seed_used + 99)};
    home_start(THREADS);
    for (size_t round = 0; round < rounds; round++) {
        stress_threads((unsigned)round * THREADS, THREADS, 6000, run);
        for (size_t i = 0; i < THREADS; i++)
            stress_free(left[i]);
        if (round % 3 == 0) /* else the next ones find a full table, and its owners gone */
            only_free(&random, PLACES / 2);
    }
    for (size_t i = 0; i < PLACES; i++)
        stress_free(take(i));
    home_check(160);
    return 0;
}
