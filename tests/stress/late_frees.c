/*
 * Frees in threads that have nearly ended and never allocated.
 *
 * A thread that frees for the first time when its last destructors run, or even later inside libc, has nobody who would
 * give back a heap that it took then. So no heap may be taken for a few such frees: thousands of these threads must
 * leave the heap's own records as they were, and every block must come home.
 *
 * Half of the threads free in the last round of key destructors. The others are detached and have large stacks: libc
 * keeps few of these, and frees what belongs to the others in whatever thread just ends.
 */
#include "home.h"

#include <limits.h>
#include <semaphore.h>

#define THREADS 25
#define FREES 20
#define STACK ((size_t)16 << 20)
#define RECORDS_ALLOWED ((uint64_t)256 << 10)

static pthread_key_t key;
static _Thread_local int rounds;
static void *blocks[FREES];
static sem_t go;
static atomic_uint alive;

static void destroy(void *value) {
    if (++rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(key, value);
        return;
    }
    for (size_t i = 0; i < FREES; i++)
        stress_free(blocks[i]);
}

static void *end_late(void *argument) {
    pthread_setspecific(key, argument);
    return NULL;
}

static void *end_alone(void *argument) {
    (void)argument;
    while (sem_wait(&go) != 0)
        ;
    atomic_fetch_sub(&alive, 1);
    return NULL;
}

static void one_late_thread(struct test_random *random) {
    for (size_t i = 0; i < FREES; i++)
        blocks[i] = stress_new(random, test_size(random, 12));
    stress_threads(0, 1, 1, end_late);
}

static void detached_threads(const pthread_attr_t *attributes) {
    pthread_t id;
    atomic_store(&alive, THREADS);
    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&id, attributes, end_alone, NULL) != 0)
            test_fail("cannot create thread %u", i);
    for (unsigned i = 0; i < THREADS; i++)
        sem_post(&go);
    while (atomic_load(&alive) != 0)
        sched_yield();
}

static uint64_t own_records(void) {
    size_t (*read)(struct hakmem_statistics *, size_t) = HOME_FUNCTION(hakmem_stats);
    struct hakmem_statistics now = {.metadata_bytes = 0};
    if (read != NULL)
        read(&now, sizeof now);
    return now.metadata_bytes;
}

int main(int argc, char **argv) {
    size_t times = stress_start(argc, argv, 60);
    struct test_random random = {.state = test_mix(test_seed_used)};
    pthread_attr_t attributes;
    if (pthread_key_create(&key, destroy) != 0 || sem_init(&go, 0, 0) != 0 ||
        pthread_attr_init(&attributes) != 0)
        test_fail("no key, semaphore or attributes");
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK);
    home_start(THREADS);
    uint64_t before = 0;
    for (size_t i = 0; i < times; i++) {
        if (i == 2)
            before = own_records();
        for (unsigned late = 0; late < THREADS; late++)
            one_late_thread(&random);
        detached_threads(&attributes);
    }
    if (times > 2 && own_records() > before + RECORDS_ALLOWED)
        test_fail("own records grew from %llu to %llu KiB", (unsigned long long)before / 1024,
                  (unsigned long long)own_records() / 1024);
    home_check(64);
    return 0;
}
