/*
 * Waves: all threads allocate, then each frees what its neighbour allocated, then nothing is live at all.
 *
 * Every wave uses another size, from one class's blocks to blocks with runs or mappings of their own, so that slabs
 * fill, are emptied by another thread than their owner, are given back and come again as slabs of another class and
 * another owner. Barriers part the phases: a block is never freed before it was allocated, and all threads are in the
 * same phase, which is what makes them meet.
 */
#include "home.h"

#define THREADS 5
#define BLOCKS 4096
#define WAVE_BYTES ((size_t)4 << 20)

static void *blocks[THREADS][BLOCKS];
static pthread_barrier_t phase;

static size_t wave_size(size_t wave) {
    static const size_t sizes[] = {16, 4096, 48, 100000, 700, 33000, 128, 2 << 20, 20000, 1 << 20, 1024, 300};
    return sizes[wave % (sizeof sizes / sizeof sizes[0])];
}

static size_t wave_blocks(size_t size) {
    size_t count = WAVE_BYTES / size;
    return count < BLOCKS ? count : BLOCKS;
}

static void *run(void *argument) {
    struct stress_thread *thread = argument;
    unsigned next = (thread->number + 1) % THREADS;
    for (size_t wave = 0; wave < thread->operations; wave++) {
        size_t size = wave_size(wave);
        size_t count = wave_blocks(size);
        for (size_t i = 0; i < count; i++)
            blocks[thread->number][i] =
                stress_new(&thread->random, size - test_below(&thread->random, size / 8));
        pthread_barrier_wait(&phase);
        for (size_t i = 0; i < count; i++)
            stress_free(blocks[next][i]);
        pthread_barrier_wait(&phase);
    }
    return NULL;
}

int main(int argc, char **argv) {
    size_t waves = stress_start(argc, argv, 120);
    pthread_barrier_init(&phase, NULL, THREADS);
    home_run(THREADS, waves, run, 256);
    return 0;
}
