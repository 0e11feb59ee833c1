// leak: what does a heap cost that only grows, in time and in memory per live byte?
//
// After the ramps of Wilson, Johnstone, Neely and Boles, "Dynamic Storage Allocation" (1995): bursts of 64
// blocks of 16..512 bytes, of which one in WS stays for ever and the others are freed; fresh pages come
// without end, and the survivors lie scattered. Watch the peak RSS: the live bytes are the same for every
// allocator. An operation is one block.
#include "suite.h"

#include "../blocks.h"

enum { SMALLEST = 16, LARGEST = 512, BURST = 64 };

static uint64_t run(struct suite_thread *thread) {
    size_t every = thread->settings->working_set;
    uint64_t bursts = thread->share / BURST + 1;
    void *blocks[BURST];
    for (uint64_t i = 0; i < bursts; i++) {
        for (size_t k = 0; k < BURST; k++) {
            uint32_t bits = (uint32_t)(random_next(&thread->random) >> 32);
            blocks[k] = block_new(false, random_between(bits, SMALLEST, LARGEST));
        }
        for (size_t k = 0; k < BURST; k++)
            if ((i * BURST + k) % every != 0)
                free(blocks[k]);
    }
    return bursts * BURST;
}

const struct suite suite = {
    .defaults = {.iterations = 2000000, .working_set = 8, .seed = 1, .threads = 1},
    .most = 1u << 20,
    .run = run,
};
