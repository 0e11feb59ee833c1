/*
 * quiet: what does giving memory home cost a process that does nothing?
 *
 * By its argument:
 *   thread     after the memory has gone home the janitor does not run any more, until something is freed again, but for asking
 *              after 1 s, 2, 4 ... whether the process is to end
 *   large      what is freed then goes home, too, when it is large blocks that come straight to those at hand
 *   little     a process that never holds a MiB has no janitor, however much it frees in all
 *   one        nor has one of one thread, as long as it is little that rests, in slabs or not; its slow paths
 *              give that home. When it is much a janitor comes at once
 *   slow       without a thread (HAKMEM_PURGE_THREAD=0) memory goes home while the program frees something now and then
 *   off        with HAKMEM_PURGE_DELAY=0 nothing goes home by itself, and malloc_trim(0) gives it from the slabs of all
 *              threads at once
 */
#include "home.h"

#include <dlfcn.h>

enum { SLEEPERS = 4, ASKED = 4 /* twice in 3 s */, OFF_LOOKS = 60, LITTLE_ROUNDS = 2000 };
enum { ONE_LIVE = 12 << 20, ONE_ROUNDS = 200, RESTING = 3000, RESTING_SIZE = 1000, TURN = 512 };

static pthread_barrier_t all;
static struct blocks blocks[SLEEPERS];

static void come_and_go(unsigned keep) {
    struct blocks once = {.state = 1};

    build(&once, 64 * MIB);
    long peak = rss_kib();
    drop(&once, keep);
    AWAIT(rss_kib() < peak / 2);
}

static void with_thread(void) {
    CHECK(janitor() == 0);
    come_and_go(0);
    long thread = janitor();
    CHECK(thread != 0);
    janitor_rests(thread);
    struct costs before = janitor_costs(thread);
    rest(3000);
    struct costs after = janitor_costs(thread);
    printf("asleep: %ld switches, %ld ticks\n", after.switches - before.switches, after.ticks - before.ticks);
    CHECK(after.switches - before.switches <= ASKED && before.ticks == after.ticks);
    come_and_go(5); /* and what is freed now, goes home too */
    CHECK(janitor() == thread);
    janitor_rests(thread);
}

enum { LARGE = 100000, LARGES = 64, LARGE_ROUNDS = 10 /* then none is measured at its next free */ };

static void take_large(void *larges[LARGES]) {
    for (int i = 0; i < LARGES; i++)
        fill(larges[i] = taken(LARGE), LARGE, 1);
}

static void drop_large(void *larges[LARGES]) {
    for (int i = 0; i < LARGES; i++)
        free(larges[i]);
}

static void with_large(void) {
    void *larges[LARGES];

    come_and_go(0);
    for (int round = 0; round < LARGE_ROUNDS; round++) {
        take_large(larges);
        drop_large(larges);
    }
    take_large(larges);
    janitor_rests(janitor());
    long live = rss_kib();
    drop_large(larges);
    AWAIT(rss_kib() < live - LARGES * LARGE / 1024 / 2);
}

static void with_little(void) {
    for (int round = 0; round < LITTLE_ROUNDS; round++) {
        void *some[100];
        for (int i = 0; i < 100; i++)
            some[i] = taken(1000);
        for (int i = 0; i < 100; i++)
            free(some[i]);
    }
    rest(1000);
    CHECK(janitor() == 0);
}

/* Frees and takes blocks by turns, TURN of them at once, so that less than a MiB is free at any time. */
static void turn_over(struct blocks *some) {
    for (size_t from = 0; from + TURN <= some->count; from += TURN) {
        for (size_t i = from; i < from + TURN; i++)
            free(some->of[i]);
        for (size_t i = from; i < from + TURN; i++)
            some->of[i] = memset(taken(sizeof(size_t)), 0, sizeof(size_t)); /* its size is not looked at */
    }
}

static void of_one_thread(void) {
    struct blocks most = {.state = 1}, turned = {.state = 2};
    static void *resting[RESTING];
    static const char unknown = 0; /* musl, or an older glibc: the library asks the kernel */
    const char *says =
        dlsym(RTLD_DEFAULT, "__libc_single_threaded"); /* a program that names it asks for it */
    const char *alone = says ? says : &unknown;

    build(&most, ONE_LIVE);
    for (int round = 0; round < ONE_ROUNDS; round++) {
        build(&turned, MIB);
        turn_over(&turned);
        drop(&turned, 0);
        CHECK(munmap(turned.of, MIB / 64 * sizeof(void *)) == 0);
    }
    for (int i = 0; i < RESTING; i++)
        resting[i] = memset(taken(RESTING_SIZE), 1, RESTING_SIZE);
    long before = rss_kib();
    for (int i = 0; i < RESTING; i++)
        free(resting[i]);
    AWAIT(goes_home(before - RESTING * RESTING_SIZE / 1024 / 2));
    CHECK(janitor() == 0 && (*alone || !says));
    before = rss_kib();
    drop(&most, 0);
    AWAIT(rss_kib() < before - (ONE_LIVE >> 10) * 3 / 4);
    CHECK(janitor() != 0 && !*alone);
}

static void without_thread(void) {
    struct blocks once = {.state = 1};

    build(&once, 64 * MIB);
    long peak = rss_kib();
    drop(&once, 0);
    AWAIT(goes_home(peak * 15 /
                    100)); /* little batches of frees are all that the library gets to do its work in */
    CHECK(janitor() == 0);
}

static void *sleeper(void *argument) {
    struct blocks *mine = &blocks[(uintptr_t)argument];

    mine->state = 7 + (unsigned)(uintptr_t)argument;
    build(mine, 64 * MIB / SLEEPERS);
    pthread_barrier_wait(&all);
    drop(mine, 5);
    pthread_barrier_wait(&all); /* freed */
    pthread_barrier_wait(&all); /* looked at */
    verify_all(mine);
    return NULL;
}

static void switched_off(void) {
    pthread_t threads[SLEEPERS];

    CHECK(pthread_barrier_init(&all, NULL, SLEEPERS + 1) == 0);
    for (uintptr_t i = 0; i < SLEEPERS; i++)
        threads[i] = start_thread(sleeper, (void *)i);
    pthread_barrier_wait(&all);
    long peak = rss_kib();
    pthread_barrier_wait(&all);
    long freed = rss_kib();
    rest(OFF_LOOKS * LOOK_MS);
    long later = rss_kib();
    CHECK(janitor() == 0 && later >= freed - 256);
    malloc_trim(0);
    malloc_trim(0);
    long trimmed = rss_kib();
    printf("peak %ld KiB, freed %ld, later %ld, trimmed %ld\n", peak, freed, later, trimmed);
    CHECK(trimmed < peak * 40 / 100);
    pthread_barrier_wait(&all);
    for (int i = 0; i < SLEEPERS; i++)
        join_thread(threads[i]);
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 4096);
    CHECK(argc == 2);
    if (strcmp(argv[1], "thread") == 0)
        with_thread();
    else if (strcmp(argv[1], "large") == 0)
        with_large();
    else if (strcmp(argv[1], "little") == 0)
        with_little();
    else if (strcmp(argv[1], "one") == 0)
        of_one_thread();
    else if (strcmp(argv[1], "slow") == 0)
        without_thread();
    else
        switched_off();
    return 0;
}
