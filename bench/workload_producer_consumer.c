// producer_consumer: the worker allocates, a second thread frees; every free is a remote one.
//
// The worker's slots are the ring between them (one writer, one reader, no lock): a full slot waits to be freed, an
// empty one to be filled. A thread that has to wait yields the processor, so that the pair also works on one CPU.
// A block costs two steps: its allocation and its free.
#include "blocks.h"

#include <pthread.h>
#include <sched.h>

struct consumer {
    struct worker *worker;
    uint64_t blocks;
};

BLOCK_ALWAYS_INLINE void *slot_wait(void **slot, bool full) {
    for (;;) {
        // Acquire: pairs with the other side's release in slot_put.
        void *block = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
        if ((block != NULL) == full)
            return block;
        sched_yield();
    }
}

BLOCK_ALWAYS_INLINE void slot_put(void **slot, void *block) {
    // Release: the block's first and last byte are written before the other side sees it.
    __atomic_store_n(slot, block, __ATOMIC_RELEASE);
}

BLOCK_ALWAYS_INLINE void consume(struct worker *worker, uint64_t blocks, bool empty) {
    const size_t working_set = worker->settings->working_set;
    void **slots = worker->slots;
    for (size_t i = worker->position; blocks; blocks--) {
        block_free(empty, slot_wait(&slots[i], true));
        slot_put(&slots[i], NULL);
        if (++i == working_set)
            i = 0;
    }
}

BLOCK_ALWAYS_INLINE size_t produce(struct worker *worker, uint64_t blocks, bool empty) {
    const struct workload *workload = worker->settings->workload;
    const size_t working_set = worker->settings->working_set;
    void **slots = worker->slots;
    uint64_t random = worker->random;
    size_t i = worker->position;
    for (; blocks; blocks--) {
        uint32_t bits = (uint32_t)(random_next(&random) >> 32);
        slot_wait(&slots[i], false);
        slot_put(&slots[i], block_new(empty, random_between(bits, workload->smallest, workload->largest)));
        if (++i == working_set)
            i = 0;
    }
    worker->random = random;
    return i;
}

static void *consumer_run(void *argument) {
    struct consumer *consumer = argument;
    if (consumer->worker->settings->empty)
        consume(consumer->worker, consumer->blocks, true);
    else
        consume(consumer->worker, consumer->blocks, false);
    return NULL;
}

void producer_consumer_steps(struct worker *worker, uint64_t steps) {
    struct consumer consumer = {worker, steps / 2};
    pthread_t thread;
    if (pthread_create(&thread, NULL, consumer_run, &consumer) != 0) {
        fputs("bench: no new thread\n", stderr);
        exit(1);
    }
    size_t position =
        worker->settings->empty ? produce(worker, steps / 2, true) : produce(worker, steps / 2, false);
    pthread_join(thread, NULL);
    worker->position = position;
}
