/*
 * own_create: does a program live that has a pthread_create of its own, which takes a lock that the program holds while it frees?
 *
 * Profilers, and collectors of garbage, keep a record of each thread like that. The thread that gives memory home is none of theirs. A sanitizer
 * (SANITIZED: a program that looks like it has one) must know every thread, and holds no lock meanwhile.
 */
#include "hostile.h"

enum { FREED = 200000, SECONDS = 100 };

#ifdef SANITIZED
void __asan_init(void);
void __asan_init(void) {
}
enum { TOLD = 2 };
#else
enum { TOLD = 1 };
#endif

typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static pthread_mutex_t records = PTHREAD_MUTEX_INITIALIZER;
static int recorded;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *data) {
    create *next = (create *)(uintptr_t)dlsym(RTLD_NEXT, "pthread_create");

    CHECK(next != NULL && pthread_mutex_lock(&records) == 0);
    recorded++;
    CHECK(pthread_mutex_unlock(&records) == 0);
    return next(thread, attributes, run, data);
}

static void *allocate(void *nothing) {
    free(malloc(100));
    pause();
    return nothing;
}

int main(void) {
    static void *blocks[FREED];

    alarm(SECONDS);
    start_thread(allocate, NULL);
    take_many(blocks, FREED, 200);
    if (TOLD == 1)
        CHECK(pthread_mutex_lock(&records) == 0);
    free_many(blocks, FREED);
    if (TOLD == 1)
        CHECK(pthread_mutex_unlock(&records) == 0);
    if (getenv("TESTED_LIB") != NULL)
        CHECK(recorded == TOLD && count_threads() > 2);
    else
        CHECK(recorded == 1);
    _exit(0);
}
