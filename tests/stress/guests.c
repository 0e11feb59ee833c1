/*
 * Guests: many threads on few CPUs free what others have allocated, and keep some of it for their own next mallocs.
 *
 * A heap keeps guests where there are many more threads than CPUs on which they were seen. So this program begins on one CPU, with as many
 * threads as make a crowd there, and goes on with all CPUs, where they are one as long as those are few. heap P7: a guest never gets to
 * where only the heap's own blocks may be. If one did, it would be refused as freed twice, or handed out twice.
 *
 * Threads replace random blocks of one table, in bursts of mallocs, bursts of frees and both in turn, so that magazines run full of
 * guests and own blocks in every order; some end, some sleep and are emptied by others, some purge. Contents are checked at every
 * free, and at the end every block must have come home.
 */
#include "../one_cpu.h"
#include "home.h"

#include <time.h>

#define THREADS 8
#define ROUNDS 4
#define PLACES 2048
#define BURST 200
#define SWOLLEN 6000

static _Atomic(void *) table[PLACES];

static size_t some_size(struct test_random *random) {
    return test_below(random, 16) > 0 ? STRESS_HEADER + test_below(random, 300) : test_size(random, 14);
}

static void replace(struct test_random *random, size_t place) {
    void *block = stress_new(random, some_size(random));
    stress_free(atomic_exchange_explicit(&table[place % PLACES], block, memory_order_acq_rel));
}

/* Neighbouring places: what is freed was allocated in one burst, often by one thread. */
static void burst(struct test_random *random) {
    size_t place = test_below(random, PLACES);
    for (size_t i = 0; i < BURST; i++)
        stress_free(atomic_exchange_explicit(&table[(place + i) % PLACES], NULL, memory_order_acq_rel));
    for (size_t i = 0; i < BURST; i++)
        replace(random, place + i);
}

/* Of its own, and so many that magazines of other classes are emptied on their behalf, guests and all. */
static void swell(struct test_random *random) {
    static _Thread_local void *own[SWOLLEN];
    size_t size = STRESS_HEADER + test_below(random, 300);
    for (size_t i = 0; i < SWOLLEN; i++)
        own[i] = stress_new(random, size);
    for (size_t i = 0; i < SWOLLEN; i++)
        stress_free(own[i]);
}

static void *run(void *argument) {
    struct stress_thread *thread = argument;
    size_t (*purge)(void) = HOME_FUNCTION(hakmem_purge);
    for (size_t i = 0; i < thread->operations; i++) {
        unsigned what = test_below(&thread->random, 800);
        if (what == 0 && purge != NULL)
            purge();
        else if (what == 1)
            nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
        else if (what < 6)
            burst(&thread->random);
        else if (what == 6)
            swell(&thread->random);
        else
            replace(&thread->random, test_below(&thread->random, PLACES));
    }
    return NULL;
}

static void clear_table(void) {
    for (size_t place = 0; place < PLACES; place++)
        stress_free(atomic_exchange_explicit(&table[place], NULL, memory_order_acq_rel));
}

/* Half of the rounds on one CPU, where as many threads are a crowd. */
static void run_on_one_cpu(size_t operations) {
    cpu_set_t all;
    if (sched_getaffinity(0, sizeof all, &all) != 0 || !stay_on_one_cpu())
        test_fail("cannot choose the CPU");
    for (unsigned round = 0; round < ROUNDS / 2; round++)
        stress_threads(round * THREADS, THREADS, operations, run);
    sched_setaffinity(0, sizeof all, &all);
}

int main(int argc, char **argv) {
    size_t operations = stress_start(argc, argv, 40000);
    home_start(THREADS);
    run_on_one_cpu(operations / ROUNDS);
    for (unsigned round = ROUNDS / 2; round < ROUNDS; round++)
        stress_threads(round * THREADS, THREADS, operations / ROUNDS, run);
    clear_table();
    home_check(256);
    return 0;
}
