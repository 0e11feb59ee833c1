/*
 * content: is what the program wrote ever lost while memory goes home?
 *
 * Threads fill slots with blocks that know what they are and leave them among others that are freed, sometimes working,
 * sometimes asleep, so that the janitor (with a delay of a millisecond) and a thread that purges all the time find pages to
 * give home between live blocks. Every block is checked at each free, and each thread checks all it has again and again.
 */
#include "stress/stress.h"

#include "hakmem.h"

#include <time.h>
#include <unistd.h>

enum { THREADS = 4, SLOTS = 6000, ROUNDS = 60, HANDED = 512 };

static _Atomic(void *) handed[HANDED]; /* blocks on their way to another thread */
static _Atomic bool done;

#ifndef TESTED_PREFIXED
extern int malloc_trim(size_t pad); /* which musl's malloc.h does not name */

static size_t hakmem_purge_of_library(void) {
    size_t (*purge)(void) = (__typeof__(&hakmem_purge))dlsym(RTLD_DEFAULT, "hakmem_purge");
    return purge != NULL ? purge() : (size_t)malloc_trim(0);
}
#define hakmem_purge hakmem_purge_of_library
#endif

static size_t size_for(struct test_random *random) {
    unsigned kind = test_random(random) % 64;
    size_t most = kind == 0 ? 200000 : kind < 8 ? 30000 : kind < 24 ? 4000 : 400;
    return STRESS_HEADER + test_random(random) % most;
}

static void sleep_a_little(struct test_random *random) {
    struct timespec pause = {0, (long)(test_random(random) % 8) * 1000000};
    nanosleep(&pause, NULL);
}

/* Gives a block to whoever comes next, and frees what the last one left there. */
static void hand_on(struct test_random *random, void *block) {
    stress_free(atomic_exchange(&handed[test_random(random) % HANDED], block));
}

static void step(struct test_random *random, void **slot) {
    unsigned what = test_random(random) % 16;
    if (*slot == NULL) {
        *slot = stress_new(random, size_for(random));
    } else if (what == 0) {
        *slot = stress_resize(random, *slot, size_for(random));
    } else {
        if (what < 4)
            hand_on(random, *slot);
        else
            stress_free(*slot);
        *slot = NULL;
    }
}

static void *work(void *argument) {
    struct stress_thread *thread = argument;
    void **slots = tested_calloc(SLOTS, sizeof *slots);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < thread->operations; i++)
            step(&thread->random, &slots[test_random(&thread->random) % SLOTS]);
        for (size_t i = 0; i < SLOTS; i++) /* most go, so that whole pages are free between the others */
            if (round % 3 == 0 && test_random(&thread->random) % 8 != 0) {
                stress_free(slots[i]);
                slots[i] = NULL;
            }
        sleep_a_little(&thread->random);
        for (size_t i = 0; i < SLOTS; i++)
            if (slots[i] != NULL)
                stress_check(slots[i], SIZE_MAX, "after a while");
    }
    for (size_t i = 0; i < SLOTS; i++)
        stress_free(slots[i]);
    tested_free(slots);
    return NULL;
}

static void *purge_on(void *nothing) {
    struct timespec pause = {0, 500000};
    while (!done) {
        hakmem_purge();
        nanosleep(&pause, NULL);
    }
    return nothing;
}

int main(int argc, char **argv) {
    size_t operations = stress_start(argc, argv, 30000);
    pthread_t purger;
    tested_free(tested_malloc(1)); /* the options are read before there are threads */
    if (pthread_create(&purger, NULL, purge_on, NULL) != 0)
        test_fail("cannot create the thread that purges");
    stress_threads(0, THREADS, operations, work);
    done = true;
    pthread_join(purger, NULL);
    for (unsigned i = 0; i < HANDED; i++)
        stress_free(atomic_load(&handed[i]));
    return 0;
}
