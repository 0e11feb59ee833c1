// phases: what does a program cost that changes its mind: grows, shrinks to a twentieth, and goes on with other sizes?
//
// After the phase behaviour of long-lived programs (Wilson, Johnstone, Neely and Boles 1995, "Dynamic Storage
// Allocation: A Survey and Critical Review", section 2). 20 cycles: WS blocks are allocated, all but one in twenty are
// freed in random order, the rest after the next cycle has grown. The sizes of a cycle spread around a size that
// changes from cycle to cycle, 32 bytes to 8 KiB. An operation is one malloc or free.
#include "suite.h"

#include "../blocks.h"

enum { CYCLES = 20, STAYS = 20, BASES = 9, BASE_SMALLEST = 32 };

static void ***tables;

static void begin(const struct suite_settings *settings) {
    tables = driver_memory(2 * settings->threads * sizeof *tables);
    for (unsigned i = 0; i < 2 * settings->threads; i++)
        tables[i] = driver_memory(settings->working_set * sizeof **tables);
}

// Sizes of half to one and a half times the cycle's.
static size_t size_in(unsigned cycle, uint64_t *random) {
    size_t base = (size_t)BASE_SMALLEST << (cycle * 5 % BASES);
    return base / 2 + random_below((uint32_t)random_next(random), base);
}

// Frees all but the first `stays`, in random order; returns how many it freed.
static uint64_t shrink(void **blocks, size_t count, size_t stays, uint64_t *random) {
    for (size_t left = count; left > stays; left--) {
        size_t chosen = random_below((uint32_t)random_next(random), left);
        free(blocks[chosen]);
        blocks[chosen] = blocks[left - 1];
        blocks[left - 1] = NULL;
    }
    return count - stays;
}

// One cycle of blocks beside what the last one left; returns its operations.
static uint64_t cycle_run(struct suite_thread *thread, unsigned cycle, size_t count, size_t *left) {
    void **now = tables[2 * thread->index + cycle % 2],
         **before = tables[2 * thread->index + (cycle + 1) % 2];
    for (size_t i = 0; i < count; i++)
        now[i] = block_new(false, size_in(cycle, &thread->random));
    uint64_t operations = count + shrink(before, *left, 0, &thread->random);
    *left = count / STAYS;
    return operations + shrink(now, count, *left, &thread->random);
}

static uint64_t run(struct suite_thread *thread) {
    size_t most = thread->settings->working_set, left = 0;
    uint64_t operations = 0, rounds = (thread->share + CYCLES * 2 * most - 1) / (CYCLES * 2 * most);
    for (uint64_t cycle = 0; cycle < rounds * CYCLES; cycle++)
        operations += cycle_run(thread, (unsigned)(cycle % CYCLES), most, &left);
    return operations + shrink(tables[2 * thread->index + 1], left, 0, &thread->random);
}

const struct suite suite = {
    .defaults = {.iterations = 2000000, .working_set = 50000, .seed = 1, .threads = 1},
    .most = 1u << 24,
    .begin = begin,
    .run = run,
};
