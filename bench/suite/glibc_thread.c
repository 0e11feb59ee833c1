// glibc_thread: what does a thread-local working set cost whose sizes are mostly small and seldom large?
//
// After bench-malloc-thread of glibc's benchtests: each thread replaces random ones of WS blocks, whose sizes
// lie between 4 and 32,768 bytes with a density that falls with the square of the size, drawn from a table
// beforehand. An operation is one replacement.
#include "suite.h"

#include "../blocks.h"

enum { SMALLEST = 4, LARGEST = 32768, SIZES = 8192 };

static uint32_t sizes[SIZES];

// The inverse of the distribution 1/x^2 between both ends.
static void begin(const struct suite_settings *settings) {
    uint64_t random = settings->seed * 2 + 1;
    for (size_t i = 0; i < SIZES; i++) {
        double u = (double)(random_next(&random) >> 11) / (double)(1ull << 53);
        double size = 1.0 / (1.0 / SMALLEST - u * (1.0 / SMALLEST - 1.0 / LARGEST));
        sizes[i] = (uint32_t)size;
    }
}

static uint64_t run(struct suite_thread *thread) {
    size_t working_set = thread->settings->working_set;
    void **slots = driver_memory(working_set * sizeof *slots);
    uint64_t random = thread->random;
    for (uint64_t i = 0; i < thread->share; i++) {
        uint64_t bits = random_next(&random);
        void **slot = &slots[random_below((uint32_t)bits, working_set)];
        free(*slot);
        *slot = block_new(false, sizes[(bits >> 32) % SIZES]);
    }
    for (size_t i = 0; i < working_set; i++)
        free(slots[i]);
    return thread->share;
}

const struct suite suite = {
    .defaults = {.iterations = 8000000, .working_set = 1024, .seed = 1, .threads = 2},
    .most = 1u << 24,
    .begin = begin,
    .run = run,
};
