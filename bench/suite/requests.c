// requests: what do the buffers of requests cost that several threads serve at once?
//
// After what servers do with bodies and replies: each thread keeps WS buffers of 64..512 KiB, as many of 64..128 as of 128..256 and of
// 256..512; a random one is freed and a new one taken, of which a sixteenth is written. No thread shares a buffer with another: what
// they share is the allocator. An operation is one buffer.
#include "suite.h"

#include "../blocks.h"

#include <string.h>

enum { KIB = 1024, SMALLEST = 64 * KIB, DOUBLINGS = 3, WRITTEN = 16 };

static uint64_t run(struct suite_thread *thread) {
    size_t working_set = thread->settings->working_set;
    void **slots = driver_memory(working_set * sizeof *slots);
    for (uint64_t i = 0; i < thread->share; i++) {
        uint64_t bits = random_next(&thread->random);
        void **slot = &slots[random_below((uint32_t)bits, working_set)];
        slot_release(slot, false);
        size_t least = (size_t)SMALLEST << random_below((uint32_t)random_next(&thread->random), DOUBLINGS);
        size_t size = random_between((uint32_t)(bits >> 32), least, 2 * least);
        *slot = block_new(false, size);
        memset(*slot, (int)i, size / WRITTEN);
    }
    slots_release(slots, working_set);
    return thread->share;
}

const struct suite suite = {
    .defaults = {.iterations = 400000, .working_set = 20, .seed = 1, .threads = 2},
    .most = 1024,
    .run = run,
};
