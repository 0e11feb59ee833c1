/*
 * Slabs whose owner has ended, freed into by some threads while others adopt them.
 *
 * Each round three threads allocate a few hundred slabs' worth of small blocks and end. Then two threads free those
 * blocks in random order while two allocate and free the same sizes, for which they take over the abandoned slabs: so
 * frees race with adoption, and slabs wait in the inbox of a heap that is no longer their owner.
 */
#include "home.h"

#define OWNERS 3
#define OTHERS 4
#define BLOCKS 6000
#define KEPT 512

static void *blocks[OWNERS][BLOCKS];
static atomic_size_t next_block;

static size_t some_size(struct test_random *random) {
    static const size_t sizes[] = {64, 80, 256, 1000};
    return sizes[test_below(random, 4)];
}

static void *own(void *argument) {
    struct stress_thread *thread = argument;
    for (size_t i = 0; i < BLOCKS; i++)
        blocks[thread->number][i] = stress_new(&thread->random, some_size(&thread->random));
    return NULL;
}

/* 7919 has no factor in common with the number of blocks: all of them, far apart. */
static void free_abandoned(void) {
    for (size_t i; (i = atomic_fetch_add(&next_block, 1)) < OWNERS * BLOCKS;) {
        size_t place = i * 7919 % (OWNERS * BLOCKS);
        stress_free(blocks[place % OWNERS][place / OWNERS]);
    }
}

static void allocate_same(struct stress_thread *thread) {
    void *kept[KEPT] = {NULL};
    for (size_t i = 0; atomic_load(&next_block) < OWNERS * BLOCKS || i < BLOCKS; i++) {
        void **place = &kept[test_below(&thread->random, KEPT)];
        stress_free(*place);
        *place = stress_new(&thread->random, some_size(&thread->random));
    }
    for (size_t i = 0; i < KEPT; i++)
        stress_free(kept[i]);
}

static void *adopt(void *argument) {
    struct stress_thread *thread = argument;
    if (thread->number % 2 == 0)
        free_abandoned();
    else
        allocate_same(thread);
    return NULL;
}

int main(int argc, char **argv) {
    size_t rounds = stress_start(argc, argv, 40);
    home_start(OTHERS);
    for (size_t round = 0; round < rounds; round++) {
        atomic_store(&next_block, 0);
        stress_threads(0, OWNERS, 1, own);
        stress_threads(0, OTHERS, 1, adopt);
    }
    home_check(96);
    return 0;
}
