// buffers: what do a few buffers cost that are written whole, of a new size each time?
//
// After what servers, image and column stores do with their working buffers: WS slots, a random one is freed and filled with a
// block of 64 KiB..4 MiB, every byte of which is written. An allocator that gives a buffer home because the next one has another
// size pays for it page by page. An operation is one buffer.
#include "suite.h"

#include "../blocks.h"

#include <string.h>

enum { KIB = 1024, SMALLEST = 64 * KIB, LARGEST = 4096 * KIB };

static uint64_t run(struct suite_thread *thread) {
    size_t working_set = thread->settings->working_set;
    void **slots = driver_memory(working_set * sizeof *slots);
    for (uint64_t i = 0; i < thread->share; i++) {
        uint64_t bits = random_next(&thread->random);
        void **slot = &slots[random_below((uint32_t)bits, working_set)];
        slot_release(slot, false);
        size_t size = random_between((uint32_t)(bits >> 32), SMALLEST, LARGEST);
        *slot = block_new(false, size);
        memset(*slot, (int)i, size);
    }
    slots_release(slots, working_set);
    return thread->share;
}

const struct suite suite = {
    .defaults = {.iterations = 16000, .working_set = 4, .seed = 1, .threads = 1},
    .most = 1024,
    .run = run,
};
