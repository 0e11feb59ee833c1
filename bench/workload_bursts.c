// alloc_heavy and free_heavy: long runs of allocations, then long runs of frees.
//
// Nothing that is freed is asked for again soon, so the cost is that of refilling (alloc_heavy: freed in the order
// of allocation, so that whole slabs drain one after the other) and of flushing (free_heavy: freed in a scattered
// order, so that neighbouring frees lie in different slabs).
#include "blocks.h"

// A step of 0.618 of the slots, odd and coprime to their number, visits each slot once and neighbours late.
static size_t scattered_stride(size_t working_set) {
    size_t stride = (size_t)((double)working_set * 0.6180339887) | 1;
    for (;; stride += 2) {
        size_t a = working_set, b = stride;
        while (b) {
            size_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1)
            return stride % working_set ? stride % working_set : 1;
    }
}

BLOCK_ALWAYS_INLINE void run(struct worker *worker, uint64_t steps, size_t stride, bool empty) {
    const struct workload *workload = worker->settings->workload;
    const size_t working_set = worker->settings->working_set;
    uint64_t random = worker->random;
    size_t done = worker->position; // slots visited in this sweep
    size_t slot = worker->marks[0]; // the next one

    for (; steps; steps--) {
        if (worker->releasing) {
            block_free(empty, worker->slots[slot]);
            worker->slots[slot] = NULL;
            slot += stride;
        } else {
            uint32_t bits = (uint32_t)(random_next(&random) >> 32);
            worker->slots[slot] =
                block_new(empty, random_between(bits, workload->smallest, workload->largest));
            slot += 1;
        }
        if (slot >= working_set)
            slot -= working_set;
        if (++done == working_set) {
            done = slot = 0;
            worker->releasing = !worker->releasing;
        }
    }
    worker->random = random;
    worker->position = done;
    worker->marks[0] = slot;
}

void alloc_heavy_steps(struct worker *worker, uint64_t steps) {
    if (worker->settings->empty)
        run(worker, steps, 1, true);
    else
        run(worker, steps, 1, false);
}

void free_heavy_steps(struct worker *worker, uint64_t steps) {
    size_t stride = scattered_stride(worker->settings->working_set);
    if (worker->settings->empty)
        run(worker, steps, stride, true);
    else
        run(worker, steps, stride, false);
}
