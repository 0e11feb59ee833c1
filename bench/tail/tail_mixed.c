// tail_mixed ITERS WS SEED FILE: how long do single calls of malloc and free take in the mixed workload?
//
// Each step is one of bench_random_mixed: a random slot is freed if it is full, else filled with 16..1024 bytes. Each
// call is timed by itself (clock.h) and counted in a histogram (histogram.h): one for malloc, one for free, and one
// for pairs of readings with nothing between them, one pair a step, under the same conditions as the calls. The lab
// takes the median of those off every duration (lab/tail.py); what is left of their tail is the machine's, not an
// allocator's. The first and last byte of a block are touched outside of the timed part.
//
// The slots are filled and emptied for 10 * WS steps before anything is counted. While it measures, nothing but the
// workload reaches the allocator under test: slots and counters are mapped, and FILE is written afterwards. FILE is
//   [CLOCK] name=rdtscp ticks=N ns=N        both over the whole run, to turn one into the other
//   [HISTOGRAM] malloc count=N max=TICKS    then lines `LOWEST HIGHEST COUNT` in ticks; so for free and clock
#define _GNU_SOURCE
#include "../blocks.h"
#include "../numbers.h"
#include "clock.h"
#include "histogram.h"

#include <inttypes.h>

enum { WARM_UP_ROUNDS = 10, SHORTEST_CALIBRATION_NS = 20000000 };

struct tail {
    void **slots;
    size_t working_set;
    uint64_t random;
    struct histogram malloc, free, clock;
};

static inline size_t size_draw(uint64_t bits) {
    return random_between((uint32_t)(bits >> 32), MIXED_SMALLEST, MIXED_LARGEST);
}

static inline void **slot_draw(struct tail *tail, uint64_t bits) {
    return &tail->slots[random_below((uint32_t)bits, tail->working_set)];
}

static void warm_up(struct tail *tail, uint64_t steps) {
    for (; steps; steps--) {
        uint64_t bits = random_next(&tail->random);
        void **slot = slot_draw(tail, bits);
        if (!slot_release(slot, false))
            *slot = block_new(false, size_draw(bits));
    }
}

static void measure(struct tail *tail, uint64_t steps) {
    for (; steps; steps--) {
        uint64_t bits = random_next(&tail->random);
        void **slot = slot_draw(tail, bits);
        size_t size = size_draw(bits);
        void *block = *slot;

        uint64_t begin = clock_ticks();
        uint64_t nothing = clock_ticks();
        histogram_record(&tail->clock, nothing - begin);
        if (block) {
            begin = clock_ticks();
            free(block);
            histogram_record(&tail->free, clock_ticks() - begin);
            *slot = NULL;
        } else {
            begin = clock_ticks();
            block = malloc(size);
            histogram_record(&tail->malloc, clock_ticks() - begin);
            block_touch(block, size);
            *slot = block;
        }
    }
}

static bool result_write(const struct tail *tail, const char *path, uint64_t ticks, uint64_t ns) {
    if (!freopen(path, "w", stdout)) {
        fprintf(stderr, "tail_mixed: cannot write %s\n", path);
        return false;
    }
    printf("[CLOCK] name=" CLOCK_NAME " ticks=%" PRIu64 " ns=%" PRIu64 "\n", ticks, ns);
    histogram_write(&tail->malloc, "malloc");
    histogram_write(&tail->free, "free");
    histogram_write(&tail->clock, "clock");
    return fclose(stdout) == 0;
}

int main(int argc, char **argv) {
    uint64_t iterations, working_set, seed;
    if (argc != 5) {
        fputs("usage: tail_mixed ITERS WS SEED FILE\n", stderr);
        return 2;
    }
    if (!number_read("ITERS", argv[1], 1, UINT64_MAX / 2, &iterations) ||
        !number_read("WS", argv[2], 1, 1u << 30, &working_set) ||
        !number_read("SEED", argv[3], 0, UINT64_MAX, &seed))
        return 2;

    struct settings settings = {.working_set = working_set, .seed = seed};
    struct worker worker;
    worker_begin(&worker, &settings, 0);
    struct tail tail = {.slots = worker.slots, .working_set = working_set, .random = worker.random};
    histogram_begin(&tail.malloc);
    histogram_begin(&tail.free);
    histogram_begin(&tail.clock);

    warm_up(&tail, WARM_UP_ROUNDS * working_set);
    uint64_t ticks = clock_ticks(), ns = clock_ns();
    measure(&tail, iterations);
    while (clock_ns() - ns < SHORTEST_CALIBRATION_NS)
        ;
    ticks = clock_ticks() - ticks;
    ns = clock_ns() - ns;
    worker_end(&worker);
    return result_write(&tail, argv[4], ticks, ns) ? 0 : 1;
}
