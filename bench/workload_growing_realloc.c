// growing_realloc: a random slot's block grows by half with each visit, from 16 bytes to 64 KiB, then is freed.
#include "blocks.h"

BLOCK_ALWAYS_INLINE void run(struct worker *worker, uint64_t steps, bool empty) {
    const struct workload *workload = worker->settings->workload;
    uint64_t random = worker->random;

    for (; steps; steps--) {
        size_t i = random_below((uint32_t)random_next(&random), worker->settings->working_set);
        size_t size = worker->marks[i] + worker->marks[i] / 2;
        if (!worker->slots[i]) {
            size = workload->smallest;
            worker->slots[i] = block_new(empty, size);
        } else if (size <= workload->largest) {
            worker->slots[i] = block_grow(empty, worker->slots[i], size);
        } else {
            slot_release(&worker->slots[i], empty);
        }
        worker->marks[i] = size;
    }
    worker->random = random;
}

void growing_realloc_steps(struct worker *worker, uint64_t steps) {
    if (worker->settings->empty)
        run(worker, steps, true);
    else
        run(worker, steps, false);
}
