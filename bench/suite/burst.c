// burst: what do WS blocks of one class cost that are all allocated, then all freed, in one order?
//
// After the phases of Hoard's threadtest and of sh6bench (MicroQuill): 64-byte blocks; the last one is freed
// first (LIFO, a stack that unwinds), the first one first (FIFO, a queue that drains) or a random one (a
// table that is destroyed). BURST_ORDER chooses when it is compiled. An operation is one block's allocation
// and free.
#include "suite.h"

#include "../blocks.h"

enum { BLOCK = 64 };

enum order { LIFO, FIFO, RANDOM };

static void **blocks;

static void begin(const struct suite_settings *settings) {
    blocks = driver_memory(settings->threads * settings->working_set * sizeof *blocks);
}

static void shuffle(void **from, size_t count, uint64_t *random) {
    for (size_t i = count - 1; i > 0; i--) {
        size_t k = random_below((uint32_t)random_next(random), i + 1);
        void *block = from[i];
        from[i] = from[k];
        from[k] = block;
    }
}

static uint64_t run(struct suite_thread *thread) {
    size_t count = thread->settings->working_set;
    void **mine = blocks + thread->index * count;
    uint64_t rounds = (thread->share + count - 1) / count;
    for (uint64_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < count; i++)
            mine[i] = block_new(false, BLOCK);
        if (BURST_ORDER == RANDOM)
            shuffle(mine, count, &thread->random);
        for (size_t i = 0; i < count; i++)
            free(mine[BURST_ORDER == LIFO ? count - 1 - i : i]);
    }
    return rounds * count;
}

const struct suite suite = {
    .defaults = {.iterations = 4000000, .working_set = 1000000, .seed = 1, .threads = 1},
    .most = 1u << 26,
    .begin = begin,
    .run = run,
};
