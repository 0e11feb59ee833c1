// mixed and c0..c7: a random slot is freed if it is full, filled otherwise.
//
// The loops are functions of their own with constant sizes (c0..c7: one, passed on): what they keep fits the registers
// that survive a call, so that the loop with the allocator is the empty one plus the calls, without spills.
#include "blocks.h"

BLOCK_ALWAYS_INLINE uint64_t run(void **slots, size_t working_set, uint64_t random, uint64_t steps,
                                 size_t smallest, size_t largest, bool empty) {
    for (; steps; steps--) {
        uint64_t bits = random_next(&random);
        void **slot = &slots[random_below((uint32_t)bits, working_set)];
        if (!slot_release(slot, empty))
            *slot = block_new(empty, random_between((uint32_t)(bits >> 32), smallest, largest));
    }
    return random;
}

typedef uint64_t loop(void **slots, size_t working_set, uint64_t random, uint64_t steps, size_t size);

static __attribute__((noinline)) uint64_t mixed_loop(void **slots, size_t working_set, uint64_t random,
                                                     uint64_t steps, size_t size) {
    (void)size;
    return run(slots, working_set, random, steps, MIXED_SMALLEST, MIXED_LARGEST, false);
}

static __attribute__((noinline)) uint64_t mixed_loop_empty(void **slots, size_t working_set, uint64_t random,
                                                           uint64_t steps, size_t size) {
    (void)size;
    return run(slots, working_set, random, steps, MIXED_SMALLEST, MIXED_LARGEST, true);
}

static __attribute__((noinline)) uint64_t one_size_loop(void **slots, size_t working_set, uint64_t random,
                                                        uint64_t steps, size_t size) {
    return run(slots, working_set, random, steps, size, size, false);
}

static __attribute__((noinline)) uint64_t one_size_loop_empty(void **slots, size_t working_set,
                                                              uint64_t random, uint64_t steps, size_t size) {
    return run(slots, working_set, random, steps, size, size, true);
}

static void loop_run(struct worker *worker, uint64_t steps, loop *with, loop *without) {
    const struct settings *settings = worker->settings;
    loop *chosen = settings->empty ? without : with;
    worker->random =
        chosen(worker->slots, settings->working_set, worker->random, steps, settings->workload->largest);
}

void mixed_steps(struct worker *worker, uint64_t steps) {
    loop_run(worker, steps, mixed_loop, mixed_loop_empty);
}

void one_size_steps(struct worker *worker, uint64_t steps) {
    loop_run(worker, steps, one_size_loop, one_size_loop_empty);
}
