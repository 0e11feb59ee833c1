/*
 * idle_threads: what does a thread cost that has used the heap and now waits?
 *
 * 256 threads each take and free 400 blocks of 16 to 1,024 bytes, 16 of them live at a time, and then wait. The same
 * program, started again with threads that do nothing but wait, has the same stacks: the difference of the two resident
 * sizes, divided by the threads, is the heap of an idle thread. At most 64 KiB.
 *
 * "burst" is the harder question: all 400 blocks of a thread live at once, 200 KiB of them. Both are asked with and
 * without huge pages: where the kernel backs a thread's sparse slabs by them, a page touched in each becomes all of it.
 */
#include "bars.h"

enum { THREADS = 256, BLOCKS = 400, AT_A_TIME = 16, BAR_KIB = 64 };
enum { REACHED_KIB = 180, REACHED_BURST_KIB = 340, REACHED_HUGE_KIB = 340 };

static pthread_barrier_t all_done, leave;
static int live_at_once;

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

static int worker(const char *how) {
    pthread_t threads[THREADS];

    live_at_once = atoi(how);
    pthread_barrier_init(&all_done, NULL, THREADS + 1);
    pthread_barrier_init(&leave, NULL, THREADS + 1);
    for (uintptr_t i = 0; i < THREADS; i++)
        threads[i] = start_thread(use_and_wait, (void *)(i + 1));
    pthread_barrier_wait(&all_done);
    dprintf(1, "%ld\n", rss_kib());
    pthread_barrier_wait(&leave);
    for (int i = 0; i < THREADS; i++)
        join_thread(threads[i]);
    return 0;
}

static long resident(char *how, const char *huge_pages) {
    const char *env[] = {huge_pages, NULL};
    static struct ran ran;
    static char word[] = "worker";

    run(&ran, (char *[]){self_path(), word, how, NULL}, env, NULL);
    if (ran.status == SKIPPED)
        skip("no /proc/self/smaps_rollup");
    CHECK(ran.status == 0);
    return strtol(ran.text, NULL, 10);
}

static void measure(const char *huge_pages, long reached, long reached_burst) {
    static char nothing[] = "0", few[] = "16", all[] = "400";
    long base = resident(nothing, huge_pages), idle = (resident(few, huge_pages) - base) / THREADS,
         burst = (resident(all, huge_pages) - base) / THREADS;

    printf("%s: %d threads: %ld KiB without the heap; %ld KiB a thread more that has used it, %ld KiB after "
           "a burst\n",
           huge_pages, THREADS, base, idle, burst);
    bar_at_most("KiB for an idle thread", idle, BAR_KIB, reached);
    bar_at_most("KiB for an idle thread after a burst", burst, BAR_KIB, reached_burst);
}

int main(int argc, char **argv) {
    if (is_worker(argc, argv))
        return worker(argv[2]);
    setvbuf(stdout, NULL, _IOLBF, 4096);
    measure("HAKMEM_HUGE_PAGES=0", REACHED_KIB, REACHED_BURST_KIB);
    measure("HAKMEM_HUGE_PAGES=1", REACHED_HUGE_KIB, REACHED_HUGE_KIB);
    return bars_result();
}
