// rptest: what do blocks of 16..16,000 bytes cost when one in four is freed by another thread?
//
// After Mattias Jansson's rpmalloc-benchmark: each thread keeps WS blocks of random sizes and replaces them
// in turn; now and then it hands a batch of blocks to its neighbour and frees the batch that the other one
// left for it. An operation is one allocation with its free.
#include "suite.h"

#include "../blocks.h"

enum { SMALLEST = 16, LARGEST = 16000, BATCH = 64, EVERY = 256, MOST_THREADS = 256 };

struct batch {
    void *blocks[BATCH];
};

static struct batch *mailbox[MOST_THREADS]; // of each thread: what its neighbour left for it

static void batch_free(struct batch *batch) {
    if (!batch)
        return;
    for (size_t i = 0; i < BATCH; i++)
        free(batch->blocks[i]);
    free(batch);
}

static void batch_hand_over(uint64_t *random, unsigned from, unsigned threads) {
    struct batch *batch = block_new(false, sizeof *batch);
    for (size_t i = 0; i < BATCH; i++)
        batch->blocks[i] =
            block_new(false, random_between((uint32_t)(random_next(random) >> 32), SMALLEST, LARGEST));
    // Both halves: what is put there is read by the neighbour; what it had not fetched is freed here.
    batch_free(__atomic_exchange_n(&mailbox[(from + 1) % threads], batch, __ATOMIC_ACQ_REL));
    batch_free(__atomic_exchange_n(&mailbox[from], NULL, __ATOMIC_ACQ_REL));
}

static uint64_t run(struct suite_thread *thread) {
    size_t working_set = thread->settings->working_set;
    void **slots = driver_memory(working_set * sizeof *slots);
    uint64_t random = thread->random, operations = 0;
    for (uint64_t i = 0; operations < thread->share; i++, operations++) {
        uint64_t bits = random_next(&random);
        void **slot = &slots[random_below((uint32_t)bits, working_set)];
        free(*slot);
        *slot = block_new(false, random_between((uint32_t)(bits >> 32), SMALLEST, LARGEST));
        if (i % EVERY == EVERY - 1) {
            batch_hand_over(&random, thread->index, thread->settings->threads);
            operations += BATCH;
        }
    }
    for (size_t i = 0; i < working_set; i++)
        free(slots[i]);
    return operations;
}

static void end(const struct suite_settings *settings) {
    for (unsigned i = 0; i < settings->threads; i++)
        batch_free(mailbox[i]);
}

const struct suite suite = {
    .defaults = {.iterations = 1000000, .working_set = 500, .seed = 1, .threads = 2},
    .most = 1u << 20,
    .run = run,
    .end = end,
};
