// mixed and c0..c7: a random slot is freed if it is full, filled otherwise.
#include "blocks.h"

BLOCK_ALWAYS_INLINE void run(struct worker *worker, uint64_t steps, bool empty) {
    const size_t smallest = worker->settings->workload->smallest;
    const size_t largest = worker->settings->workload->largest;
    const size_t working_set = worker->settings->working_set;
    void **slots = worker->slots;
    uint64_t random = worker->random;

    for (; steps; steps--) {
        uint64_t bits = random_next(&random);
        void **slot = &slots[random_below((uint32_t)bits, working_set)];
        mixed_step(slot, random_between((uint32_t)(bits >> 32), smallest, largest), empty);
    }
    worker->random = random;
}

void mixed_steps(struct worker *worker, uint64_t steps) {
    if (worker->settings->empty)
        run(worker, steps, true);
    else
        run(worker, steps, false);
}
