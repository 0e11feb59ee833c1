/*
 * One thread allocates what many free, and many allocate what one frees, in turns.
 *
 * Each turn moves 8 MiB or so of small blocks through a shared array. While the many free, the one sleeps in a barrier:
 * its blocks come home without its help, and it must find them in its next turn. If they were lost, the process would
 * grow by each turn's blocks.
 */
#include "home.h"

#define MANY 6
#define BLOCKS 60000

static void *blocks[BLOCKS];
static pthread_barrier_t turn;

static void allocate(struct stress_thread *thread, size_t first, size_t step) {
    for (size_t i = first; i < BLOCKS; i += step)
        blocks[i] = stress_new(&thread->random, STRESS_HEADER + test_below(&thread->random, 240));
}

static void release(size_t first, size_t step) {
    for (size_t i = first; i < BLOCKS; i += step)
        stress_free(blocks[i]);
}

static void *run(void *argument) {
    struct stress_thread *thread = argument;
    bool one = thread->number == 0;
    for (size_t i = 0; i < thread->operations; i++) {
        if (one)
            allocate(thread, 0, 1);
        pthread_barrier_wait(&turn);
        if (!one)
            release(thread->number - 1, MANY);
        pthread_barrier_wait(&turn);
        if (!one)
            allocate(thread, thread->number - 1, MANY);
        pthread_barrier_wait(&turn);
        if (one)
            release(0, 1);
    }
    return NULL;
}

int main(int argc, char **argv) {
    size_t turns = stress_start(argc, argv, 24);
    pthread_barrier_init(&turn, NULL, MANY + 1);
    home_run(MANY + 1, turns, run, 80);
    return 0;
}
