/*
 * Whether every block came home.
 *
 * A block that gets lost on its way back to its slab breaks no content check: the process only grows. But it keeps its
 * slab from becoming empty. So a program notes what the heap holds before it starts, and looks again when everything is
 * freed, all threads have ended and the library was told to purge: hardly a slab may be left that was not there before.
 * Two units are allowed, because libc keeps a few small blocks of its own for threads that it may start again, and
 * where these come to lie may differ.
 *
 * A second check bounds the memory that the process ever had resident, for what piles up while it runs and is given
 * back at the end. The sanitizers' own memory would count, so that it is left out where they are at work.
 *
 * Asks the library by hakmem_stats() and hakmem_purge(); with any other allocator the first check is left out.
 */
#ifndef HAKMEM_STRESS_HOME_H
#define HAKMEM_STRESS_HOME_H

#include "stress.h"

#include "hakmem.h"

#include <sys/resource.h>

#define HOME_ALLOWED ((uint64_t)2 * 64 * 1024)

static uint64_t home_before;

#ifdef TESTED_PREFIXED
#define HOME_FUNCTION(name) name
#else
#define HOME_FUNCTION(name) ((__typeof__(&name))dlsym(RTLD_DEFAULT, #name))
#endif

/* What the heap holds when all that is free was given back; a purge collects only so much in one call. */
static inline uint64_t home_live_bytes(void) {
    size_t (*purge)(void) = HOME_FUNCTION(hakmem_purge);
    size_t (*read)(struct hakmem_statistics *, size_t) = HOME_FUNCTION(hakmem_stats);
    struct hakmem_statistics now = {.live_bytes = 0};
    if (purge == NULL || read == NULL)
        return 0;
    uint64_t before;
    now.live_bytes = UINT64_MAX;
    do {
        before = now.live_bytes;
        for (unsigned i = 0; i < 64; i++)
            purge();
        read(&now, sizeof now);
    } while (now.live_bytes < before);
    return now.live_bytes;
}

static inline void *home_wait(void *argument) {
    pthread_barrier_wait(argument);
    return NULL;
}

/* The first call: as many threads as the program will have, so that libc has what it keeps for them. A block of the program's own
 * before, because a watched thread loads what walks up its stack when it is not libc that calls. */
static inline void home_start(unsigned count) {
    pthread_t ids[STRESS_THREADS_MOST];
    pthread_barrier_t all;
    void *volatile block = malloc(1);
    free(block);
    pthread_barrier_init(&all, NULL, count);
    for (unsigned i = 0; i < count; i++)
        if (pthread_create(&ids[i], NULL, home_wait, &all) != 0)
            test_fail("cannot create thread %u", i);
    for (unsigned i = 0; i < count; i++)
        pthread_join(ids[i], NULL);
    pthread_barrier_destroy(&all);
    home_before = home_live_bytes();
}

static inline void home_check(size_t most_megabytes) {
    uint64_t after = home_live_bytes();
    if (after > home_before + HOME_ALLOWED)
        test_fail("%llu KiB are held after all was freed; it were %llu before",
                  (unsigned long long)after / 1024, (unsigned long long)home_before / 1024);
#ifndef TESTED_PREFIXED
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    if ((size_t)usage.ru_maxrss > most_megabytes * 1024)
        test_fail("%ld MiB were resident, more than %zu", usage.ru_maxrss / 1024, most_megabytes);
#else
    (void)most_megabytes;
#endif
}

/* All of a program whose threads run once. */
static inline void home_run(unsigned threads, size_t operations, void *(*run)(void *),
                            size_t most_megabytes) {
    home_start(threads);
    stress_threads(0, threads, operations, run);
    home_check(most_megabytes);
}

#endif
