// large_blocks: the mixed workload with blocks of 32 KiB to 4 MiB, as many between 32 and 64 KiB as between 2 and
// 4 MiB. Only the first and the last byte are touched: what is measured is mapping, splitting and giving back.
#include "blocks.h"

BLOCK_ALWAYS_INLINE size_t large_size(uint32_t bits, const struct workload *workload) {
    unsigned doublings = (unsigned)__builtin_ctzll(workload->largest / workload->smallest);
    size_t power = workload->smallest << random_below(bits & 0xffff0000u, doublings);
    return power + random_below(bits << 16, power) + 1;
}

BLOCK_ALWAYS_INLINE void run(struct worker *worker, uint64_t steps, bool empty) {
    uint64_t random = worker->random;

    for (; steps; steps--) {
        uint64_t bits = random_next(&random);
        void **slot = &worker->slots[random_below((uint32_t)bits, worker->settings->working_set)];
        if (!slot_release(slot, empty))
            *slot = block_new(empty, large_size((uint32_t)(bits >> 32), worker->settings->workload));
    }
    worker->random = random;
}

void large_blocks_steps(struct worker *worker, uint64_t steps) {
    if (worker->settings->empty)
        run(worker, steps, true);
    else
        run(worker, steps, false);
}
