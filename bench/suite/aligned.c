// aligned: what do blocks cost that must lie at multiples of 32..4096 bytes?
//
// The mixed workload in the shape of mimalloc's own aligned stress test (no published benchmark asks it): a
// random slot of WS is freed if full, else filled by posix_memalign with a random power of two and a random
// size up to 4 KiB, as vector code and direct I/O ask for. A block that is not aligned ends the program. An
// operation is one step.
#define _GNU_SOURCE
#include "suite.h"

#include "../blocks.h"

enum { SMALLEST = 32, LARGEST = 4096 };

static uint64_t run(struct suite_thread *thread) {
    size_t working_set = thread->settings->working_set;
    void **slots = driver_memory(working_set * sizeof *slots);
    for (uint64_t i = 0; i < thread->share; i++) {
        uint64_t bits = random_next(&thread->random);
        void **slot = &slots[random_below((uint32_t)bits, working_set)];
        if (slot_release(slot, false))
            continue;
        size_t alignment = (size_t)SMALLEST << (bits >> 61); // 32 .. 4096
        size_t size = random_between((uint32_t)(bits >> 32) << 4, 1, LARGEST);
        if (posix_memalign(slot, alignment, size) != 0)
            suite_fail("the allocator has no aligned block");
        if ((uintptr_t)*slot % alignment != 0)
            suite_fail("a block is not aligned");
        block_touch(*slot, size);
    }
    slots_release(slots, working_set);
    return thread->share;
}

const struct suite suite = {
    .defaults = {.iterations = 4000000, .working_set = 1000, .seed = 1, .threads = 1},
    .most = 1u << 24,
    .run = run,
};
