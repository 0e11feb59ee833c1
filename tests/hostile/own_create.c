/*
 * own_create: does a program live that has a pthread_create of its own, which takes a lock that the program holds while it frees?
 *
 * Profilers, and collectors of garbage, keep a record of each thread like that. The thread that gives memory home is none of theirs.
 */
#include "hostile.h"

enum { FREED = 200000, SECONDS = 100 };

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

static bool has_janitor(void) {
    struct stat tasks;

    CHECK(stat("/proc/self/task", &tasks) == 0);
    return tasks.st_nlink - 2 > 2;
}

int main(void) {
    static void *blocks[FREED];

    alarm(SECONDS);
    start_thread(allocate, NULL);
    for (int i = 0; i < FREED; i++)
        CHECK((blocks[i] = memset(malloc(200), 1, 200)) != NULL);
    CHECK(pthread_mutex_lock(&records) == 0);
    for (int i = 0; i < FREED; i++)
        free(blocks[i]);
    CHECK(pthread_mutex_unlock(&records) == 0);
    CHECK(recorded == 1);
    if (getenv("TESTED_LIB") != NULL)
        CHECK(has_janitor());
    _exit(0);
}
