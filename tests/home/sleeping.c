/*
 * sleeping: what does a process keep that has built a large heap, freed it and now sleeps?
 *
 *   sleeping KEEP THREADS own|others BAR REACHED
 *
 * All but KEEP per cent of the blocks are freed, in random order, by the threads that allocated them or by their
 * neighbours; then every thread sleeps, and none calls the library any more. Resident memory must fall to BAR per cent of
 * the peak; REACHED is what holds where the bar does not yet. The blocks that are kept must be what they were.
 */
#include "home.h"

enum { THREADS_MOST = 8, PATIENCE = 400 };

static struct {
    unsigned keep, threads;
    bool others;
    long bar, reached, peak_kib;
    size_t bytes;
    pthread_barrier_t all;
    struct blocks blocks[THREADS_MOST];
} heap;

/* Looks until the bar is reached, or nothing has changed for long. */
static void look_on(void) {
    long least = rss_kib(), looks = 0, since = 0;

    printf("after the frees %ld of %ld KiB", least, heap.peak_kib);
    while (least * 100 > heap.bar * heap.peak_kib && since < PATIENCE) {
        rest(LOOK_MS);
        looks++;
        long now = rss_kib();
        since = now < least - 64 ? 0 : since + 1;
        least = now < least ? now : least;
    }
    printf(", then %ld KiB, after %ld looks of %d ms\n", least, looks, LOOK_MS);
    bar_at_most("resident, per cent of the peak", (least * 100 + heap.peak_kib - 1) / heap.peak_kib, heap.bar,
                heap.reached);
}

static void *work(void *argument) {
    unsigned number = (unsigned)(uintptr_t)argument;
    struct blocks *mine = &heap.blocks[number];
    struct blocks *freed = heap.others ? &heap.blocks[(number + 1) % heap.threads] : mine;

    mine->state = number * 2654435761u | 1;
    build(mine, heap.bytes / heap.threads);
    pthread_barrier_wait(&heap.all);
    if (number == 0)
        heap.peak_kib = rss_kib();
    pthread_barrier_wait(&heap.all);
    drop(freed, heap.keep);
    pthread_barrier_wait(&heap.all);
    if (number == 0)
        look_on();
    pthread_barrier_wait(&heap.all);
    verify_all(freed);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS_MOST];

    setvbuf(stdout, NULL, _IOLBF, 4096);
    CHECK(argc == 6);
    heap.keep = (unsigned)atoi(argv[1]);
    heap.threads = (unsigned)atoi(argv[2]);
    heap.others = strcmp(argv[3], "others") == 0;
    heap.bar = atol(argv[4]);
    heap.reached = atol(argv[5]);
    heap.bytes = peak_bytes();
    CHECK(heap.threads >= 1 && heap.threads <= THREADS_MOST);
    CHECK(pthread_barrier_init(&heap.all, NULL, heap.threads) == 0);
    for (uintptr_t i = 1; i < heap.threads; i++)
        threads[i] = start_thread(work, (void *)i);
    work(NULL);
    for (unsigned i = 1; i < heap.threads; i++)
        join_thread(threads[i]);
    return bars_result();
}
