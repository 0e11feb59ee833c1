// waves: what does a small structure cost that is built out of nodes of a few sizes, and dropped, again and again?
//
// After what parsers, compilers' passes and handlers of requests do: WS nodes of 8..48 bytes are allocated, then all of them freed in an
// order that has nothing to do with that, the same in each wave. Between two waves nothing is live. An operation is one node's
// allocation and free.
#include "suite.h"

#include "../blocks.h"

enum { SMALLEST = 8, LARGEST = 48, SIZES = 1 << 16 };

static void shuffle(uint32_t *order, size_t count, uint64_t *random) {
    for (size_t i = count - 1; i > 0; i--) {
        size_t k = random_below((uint32_t)random_next(random), i + 1);
        uint32_t index = order[i];
        order[i] = order[k];
        order[k] = index;
    }
}

static uint64_t run(struct suite_thread *thread) {
    size_t count = thread->settings->working_set, drawn = 0;
    uint64_t rounds = (thread->share + count - 1) / count;
    void **nodes = driver_memory(count * sizeof *nodes);
    uint32_t *order = driver_memory(count * sizeof *order);
    uint8_t *sizes = driver_memory(SIZES);
    for (size_t i = 0; i < SIZES; i++)
        sizes[i] = (uint8_t)random_between((uint32_t)random_next(&thread->random), SMALLEST, LARGEST);
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    shuffle(order, count, &thread->random);
    for (uint64_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < count; i++)
            nodes[i] = block_new(false, sizes[drawn++ % SIZES]);
        for (size_t i = 0; i < count; i++)
            free(nodes[order[i]]);
    }
    return rounds * count;
}

const struct suite suite = {
    .defaults = {.iterations = 12000000, .working_set = 7000, .seed = 1, .threads = 1},
    .most = 1u << 24,
    .run = run,
};
