/*
 * Survivors: all threads allocate blocks of one length and free all but a few, of which each pins a slab that is nearly free; then of the next length.
 *
 * Memory goes home while they grow: of those slabs, by the thread whose they are, whose neighbour frees a part of the same blocks, and the survivors
 * later, or fills them again, as lengths come round.
 */
#include "home.h"

#define THREADS 4
#define BLOCKS 16384
#define SURVIVORS 1024
#define PHASE_BYTES ((size_t)3 << 20)

static void *blocks[THREADS][BLOCKS], *survivors[THREADS][SURVIVORS];
static pthread_barrier_t phase;

static size_t phase_size(size_t number) {
    static const size_t sizes[] = {200, 1000, 320, 4000, 500, 8000, 240, 2000, 12000, 700};
    return sizes[number % (sizeof sizes / sizeof sizes[0])];
}

/* A thread's own half, or its neighbour's other half, but for what survives. */
static void drop(unsigned of, unsigned half, size_t count, size_t apart, struct test_random *random) {
    for (size_t i = half; i < count; i += 2)
        if (i % apart != 0) {
            stress_free(blocks[of][i]);
        } else {
            void **survivor = &survivors[of][2 * test_below(random, SURVIVORS / 2) + half];
            if (*survivor)
                stress_free(*survivor);
            *survivor = blocks[of][i];
        }
}

static void *run(void *argument) {
    struct stress_thread *thread = argument;
    unsigned next = (thread->number + 1) % THREADS;
    for (size_t number = 0; number < thread->operations; number++) {
        size_t size = phase_size(number), count = PHASE_BYTES / size < BLOCKS ? PHASE_BYTES / size : BLOCKS;
        size_t apart = 50000 / size + 1;
        for (size_t i = 0; i < count; i++)
            blocks[thread->number][i] =
                stress_new(&thread->random, size - test_below(&thread->random, size / 8));
        pthread_barrier_wait(&phase);
        drop(thread->number, 0, count, apart, &thread->random);
        drop(next, 1, count, apart, &thread->random);
        pthread_barrier_wait(&phase);
    }
    for (size_t i = 0; i < SURVIVORS; i++)
        if (survivors[thread->number][i])
            stress_free(survivors[thread->number][i]);
    return NULL;
}

int main(int argc, char **argv) {
    size_t phases = stress_start(argc, argv, 150);
    pthread_barrier_init(&phase, NULL, THREADS);
    home_run(THREADS, phases, run, 256);
    return 0;
}
