/*
 * Producers and consumers: every block is freed by another thread than the one that allocated it.
 *
 * Three producers and three consumers, a ring of pointers between each pair. Producers also free a part of their blocks
 * themselves, and consumers allocate a little, so that all heaps refill while remote frees arrive. A thread whose ring
 * is full or empty yields.
 */
#include "home.h"

#include <sched.h>

#define SIDE 3
#define RING 64

struct ring {
    _Alignas(64) atomic_size_t head; /* next to be taken */
    _Alignas(64) atomic_size_t tail; /* next to be put */
    void *blocks[RING];
};

static struct ring rings[SIDE][SIDE];

static bool ring_put(struct ring *ring, void *block) {
    size_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    if (tail - atomic_load_explicit(&ring->head, memory_order_acquire) == RING)
        return false;
    ring->blocks[tail % RING] = block;
    atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
    return true;
}

static void *ring_take(struct ring *ring) {
    size_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    if (atomic_load_explicit(&ring->tail, memory_order_acquire) == head)
        return NULL;
    void *block = ring->blocks[head % RING];
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
    return block;
}

static void produce(struct stress_thread *thread) {
    for (size_t i = 0; i < thread->operations * SIDE; i++) {
        void *block = stress_new(&thread->random, test_size(&thread->random, 12));
        while (!ring_put(&rings[thread->number][i % SIDE], block))
            sched_yield();
        if (i % 4 == 0)
            stress_free(stress_new(&thread->random, test_size(&thread->random, 12)));
    }
}

static void consume(struct stress_thread *thread) {
    size_t taken = 0;
    void *kept = NULL;
    for (unsigned from = 0; taken < thread->operations * SIDE; from = (from + 1) % SIDE) {
        void *block = ring_take(&rings[from][thread->number - SIDE]);
        if (block == NULL) {
            sched_yield();
            continue;
        }
        taken++;
        stress_free(block);
        if (taken % 8 == 0) {
            stress_free(kept);
            kept = stress_new(&thread->random, test_size(&thread->random, 12));
        }
    }
    stress_free(kept);
}

static void *run(void *argument) {
    struct stress_thread *thread = argument;
    if (thread->number < SIDE)
        produce(thread);
    else
        consume(thread);
    return NULL;
}

int main(int argc, char **argv) {
    size_t operations = stress_start(argc, argv, 100000);
    home_run(2 * SIDE, operations, run, 96);
    return 0;
}
