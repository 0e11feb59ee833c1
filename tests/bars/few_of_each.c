/*
 * few_of_each: what do threads hold that have a few blocks of each of many sizes, in a large heap all of which is touched?
 *
 * So the threads of a server whose tables lie in the same heap. 20 MB of small blocks, then 100 threads with four blocks of each of 30 sizes
 * from 16 to 1,872 bytes, all written, 113 KB each. Of a slab that a thread begins it needs a page or two, wherever the heap has huge pages.
 */
#include "bars.h"

#include <pthread.h>

enum { SMALL = 200000, THREADS = 100, SIZES = 30, STEP = 64, EACH = 4, BAR_KIB = 235 };

static pthread_barrier_t barrier;

static void *have_a_few(void *argument) {
    for (size_t size = 16; size < 16 + SIZES * STEP; size += STEP)
        for (int i = 0; i < EACH; i++)
            written(size, size);
    pthread_barrier_wait(&barrier); /* all have them */
    pthread_barrier_wait(&barrier); /* and were looked at */
    return argument;
}

int main(void) {
    pthread_t thread;

    setvbuf(stdout, NULL, _IOLBF, 4096);
    take_small(SMALL);
    CHECK(pthread_barrier_init(&barrier, NULL, THREADS + 1) == 0);
    long before = rss_kib();
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread, NULL, have_a_few, NULL) == 0);
    pthread_barrier_wait(&barrier);
    long each = (rss_kib() - before) / THREADS;
    printf("%ld KiB for each thread, its stack and records included\n", each);
    BAR(each <= BAR_KIB, "%ld KiB for each thread, %d may be", each, BAR_KIB);
    fflush(stdout);
    _exit(bars_result());
}
