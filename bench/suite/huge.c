// huge: what do blocks of 1..32 MiB cost that come and go, as buffers of images, columns and tensors do?
//
// After malloc-large of Daan Leijen (mimalloc-bench): WS slots, a random one is freed if full, else filled
// with a block of 1..32 MiB of which one byte in each 64 KiB is written. An allocator that maps and unmaps
// each time pays for the system calls and the faults. An operation is one step.
#include "suite.h"

#include "../blocks.h"

enum { MIB = 1024 * 1024, LARGEST = 32, STRIDE = 65536 };

static uint64_t run(struct suite_thread *thread) {
    size_t working_set = thread->settings->working_set;
    void **slots = driver_memory(working_set * sizeof *slots);
    for (uint64_t i = 0; i < thread->share; i++) {
        uint64_t bits = random_next(&thread->random);
        void **slot = &slots[random_below((uint32_t)bits, working_set)];
        if (slot_release(slot, false))
            continue;
        size_t size = random_between((uint32_t)(bits >> 32), 1, LARGEST) * MIB;
        unsigned char *block = block_new(false, size);
        for (size_t at = 0; at < size; at += STRIDE)
            block[at] = (unsigned char)i;
        *slot = block;
    }
    slots_release(slots, working_set);
    return thread->share;
}

const struct suite suite = {
    .defaults = {.iterations = 4000, .working_set = 4, .seed = 1, .threads = 1},
    .most = 1024,
    .run = run,
};
