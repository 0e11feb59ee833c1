/*
 * Batches: each thread allocates a few MiB of blocks of one size and frees them again, so that slabs go and come all the time in all
 * threads at once, and wait for each other's: what they have at hand of them then is used. Sizes have slabs of one unit or of four,
 * and records of different lengths; one batch in ten is of any size, and two are of large blocks, more than a hand has of those. Blocks
 * of every fourth batch are freed by the next thread.
 */
#include "home.h"

#define THREADS 4
#define BLOCKS 4096
#define BATCH_BYTES ((size_t)6 << 20)

static void *blocks[THREADS][BLOCKS];
static pthread_barrier_t phase;

static size_t batch_size(struct stress_thread *thread, size_t batch) {
    static const size_t sizes[] = {4096, 2048, 40000, 32768, 1600, 70000, 8192, 16384, 5000, 0};
    size_t size = sizes[(batch + thread->number) % (sizeof sizes / sizeof sizes[0])];
    return size ? size : STRESS_HEADER + test_below(&thread->random, 32768 - STRESS_HEADER);
}

static void *run(void *argument) {
    struct stress_thread *thread = argument;
    unsigned next = (thread->number + 1) % THREADS;
    for (size_t batch = 0; batch < thread->operations; batch++) {
        size_t size = batch_size(thread, batch), count = BATCH_BYTES / size;
        count = count < BLOCKS ? count : BLOCKS;
        for (size_t i = 0; i < BLOCKS; i++)
            blocks[thread->number][i] = i < count ? stress_new(&thread->random, size) : NULL;
        bool across = batch % 4 == 3;
        if (across)
            pthread_barrier_wait(&phase);
        void **batch_of = blocks[across ? next : thread->number];
        for (size_t i = BLOCKS; i-- > 0;)
            stress_free(batch_of[i]);
        if (across)
            pthread_barrier_wait(&phase);
    }
    return NULL;
}

int main(int argc, char **argv) {
    size_t batches = stress_start(argc, argv, 120);
    pthread_barrier_init(&phase, NULL, THREADS);
    home_run(THREADS, batches, run, 256);
    return 0;
}
