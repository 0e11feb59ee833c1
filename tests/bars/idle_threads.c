/*
 * idle_threads: what does a thread cost that has used the heap and now waits?
 *
 * 256 threads each take and free 400 blocks of 16 to 1,024 bytes, 16 of them live at a time, and then wait. The same
 * program, started again with threads that do nothing but wait, has the same stacks: the difference of the two resident
 * sizes, divided by the threads, is the heap of an idle thread. At most 64 KiB, once the janitor has been there: nobody
 * calls the library any more.
 *
 * "burst" is the harder question: all 400 blocks of a thread live at once, 200 KiB of them. Both are asked with and
 * without huge pages: where the kernel backs a thread's sparse slabs by them, a page touched in each becomes all of it.
 * With HAKMEM_PURGE_SLEEPING=0 the magazines of these threads are out of reach, and the bar is not held.
 */
#include "bars.h"

#include <time.h>

enum { THREADS = 256, BLOCKS = 400, AT_A_TIME = 16, BAR_KIB = 64 };
enum {
    LOOK_MS = 50,
    PATIENCE = 400,
    STEADY = 30,
    CHANGE_KIB = 64
}; /* looks; STEADY once the goal is reached */
static pthread_barrier_t all_done, leave;
static int live_at_once;
static long goal_kib;

static void *use_and_wait(void *argument) {
    unsigned state = (unsigned)(uintptr_t)argument * 2654435761u | 1;
    void *blocks[BLOCKS] = {NULL};

    for (int i = 0; live_at_once != 0 && i < BLOCKS; i++) {
        int place = i % live_at_once;
        free(blocks[place]);
        size_t size = next_random(&state) % (1024 - 15) + 16;
        blocks[place] = taken(size);
        memset(blocks[place], 1, size);
    }
    for (int i = 0; i < live_at_once; i++)
        free(blocks[i]);
    pthread_barrier_wait(&all_done);
    pthread_barrier_wait(&leave);
    return NULL;
}

/* Looks until nothing has changed for long; not so long below the goal. */
static long least_resident(void) {
    struct timespec pause = {0, LOOK_MS * 1000000};
    long least = rss_kib();

    for (int since = 0; since < (least <= goal_kib ? STEADY : PATIENCE); since++) {
        nanosleep(&pause, NULL);
        long now = rss_kib();
        if (now < least - CHANGE_KIB)
            since = 0;
        least = now < least ? now : least;
    }
    return least;
}

static int worker(char **argv) {
    pthread_t threads[THREADS];

    live_at_once = atoi(argv[2]);
    goal_kib = atol(argv[3]);
    pthread_barrier_init(&all_done, NULL, THREADS + 1);
    pthread_barrier_init(&leave, NULL, THREADS + 1);
    for (uintptr_t i = 0; i < THREADS; i++)
        threads[i] = start_thread(use_and_wait, (void *)(i + 1));
    pthread_barrier_wait(&all_done);
    dprintf(1, "%ld\n", least_resident());
    pthread_barrier_wait(&leave);
    for (int i = 0; i < THREADS; i++)
        join_thread(threads[i]);
    return 0;
}

/* `goal`: what may be resident, as a text. */
static long resident(char *how, char *goal, const char *const *env) {
    static struct ran ran;
    static char word[] = "worker";

    run(&ran, (char *[]){self_path(), word, how, goal, NULL}, env, NULL);
    if (ran.status == SKIPPED)
        skip("no /proc/self/smaps_rollup");
    CHECK(ran.status == 0);
    return strtol(ran.text, NULL, 10);
}

static char nothing[] = "0", few[] = "16", all[] = "400", always[] = "1000000000";

static void measure(const char *huge_pages) {
    const char *env[] = {huge_pages, NULL};
    char goal[32];
    long base = resident(nothing, always, env);

    snprintf(goal, sizeof goal, "%ld", base + THREADS * BAR_KIB);
    long idle = (resident(few, goal, env) - base) / THREADS,
         burst = (resident(all, goal, env) - base) / THREADS;
    printf("%s: %d threads: %ld KiB without the heap; %ld KiB a thread more that has used it, %ld KiB after "
           "a burst\n",
           huge_pages, THREADS, base, idle, burst);
    bar_at_most("KiB for an idle thread", idle, BAR_KIB, BAR_KIB);
    bar_at_most("KiB for an idle thread after a burst", burst, BAR_KIB, BAR_KIB);
}

/* The same without the means to reach them: as it would be if nothing was done. */
static void measure_out_of_reach(void) {
    const char *env[] = {"HAKMEM_HUGE_PAGES=0", "HAKMEM_PURGE_SLEEPING=0", NULL};
    long kib = (resident(few, always, env) - resident(nothing, always, env)) / THREADS;

    printf("out of reach: %ld KiB a thread\n", kib);
    BAR(kib > BAR_KIB, "%ld KiB a thread are no question", kib);
}

int main(int argc, char **argv) {
    if (is_worker(argc, argv))
        return worker(argv);
    setvbuf(stdout, NULL, _IOLBF, 4096);
    measure("HAKMEM_HUGE_PAGES=0");
    measure("HAKMEM_HUGE_PAGES=1");
    const char *variant = getenv("TESTED_VARIANT");
    if (variant == NULL || strcmp(variant, "hardened") != 0) /* which has no magazines */
        measure_out_of_reach();
    return bars_result();
}
