// sharing: do small blocks of different threads lie on one cache line?
//
// After cache-thrash (active) and cache-scratch (passive) of Berger's Hoard (ASPLOS 2000). Active: every thread
// allocates a block of 8 bytes, writes it WS times, frees it, and again: an allocator that cuts one line for two
// threads makes them fight for it. Passive: the first block of each thread was allocated by the main thread, next to
// the others', so that an allocator that hands a freed block back to whoever freed it lets them fight for ever.
// An operation is one write; threads that do not share run as fast as one alone.
#include "suite.h"

#include "../blocks.h"

enum { BLOCK = 8, MOST_THREADS = 256 };

static void *first[MOST_THREADS];

static void begin(const struct suite_settings *settings) {
    for (unsigned i = 0; SHARING_PASSIVE && i < settings->threads; i++)
        first[i] = block_new(false, BLOCK);
}

static uint64_t run(struct suite_thread *thread) {
    size_t writes = thread->settings->working_set;
    uint64_t rounds = thread->share / writes + 1;
    free(first[thread->index]);
    for (uint64_t i = 0; i < rounds; i++) {
        volatile unsigned char *block = block_new(false, BLOCK);
        for (size_t k = 0; k < writes; k++)
            block[k % BLOCK]++;
        free((void *)block);
    }
    return rounds * writes;
}

const struct suite suite = {
    .defaults = {.iterations = 100000000, .working_set = 1000, .seed = 1, .threads = 2},
    .most = 1u << 24,
    .begin = begin,
    .run = run,
};
