// The phases of random programs, and the run of their threads.
#define _POSIX_C_SOURCE 200809L

#include "phases.h"

#include "../driver.h"
#include "../numbers.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { WORK = 400000000, STEPS_MOST = 1500000, BLOCKS_MOST = 400000 };

static pthread_barrier_t all_wait;

uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

uint64_t below(uint64_t *state, uint64_t bound) {
    return next_random(state) % bound;
}

uint64_t by_logarithm(uint64_t *state, uint64_t least, uint64_t most) {
    double share = (double)below(state, 1000000) / 1e6;
    return (uint64_t)exp(log((double)least) + (log((double)most) - log((double)least)) * share);
}

uint64_t size_of_next(const struct phase *phase, uint64_t *state) {
    switch (phase->sizes) {
    case LISTED:
        return phase->length[below(state, phase->lengths)];
    case EVEN:
        return phase->least + below(state, phase->most - phase->least + 1);
    default:
        return by_logarithm(state, phase->least, phase->most + 1);
    }
}

static uint64_t mean_size(const struct phase *phase) {
    double spread = (double)(phase->most - phase->least);
    switch (phase->sizes) {
    case LISTED:
        return phase->length[0];
    case EVEN:
        return (phase->least + phase->most) / 2;
    default:
        return (uint64_t)(spread / log((double)phase->most / (double)phase->least)) + 1;
    }
}

static uint64_t at_most(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static void make_phase(struct phase *phase, uint64_t *state) {
    static const uint64_t caps[] = {2000000, 40000, 2000, 2000};
    uint64_t cap = caps[below(state, 4)];
    phase->sizes = (enum sizes)below(state, SIZES);
    phase->order = (enum order)below(state, ORDERS);
    phase->written = below(state, 4) == 0 ? (enum written)(1 + below(state, 3)) : WHOLE;
    phase->grows = below(state, 4) == 0;
    phase->leaves = below(state, 2) == 0;
    phase->lengths = 1 + (unsigned)below(state, LENGTHS);
    phase->least = below(state, 3) == 0 ? by_logarithm(state, 16, cap / 2) : 8 + below(state, 64);
    phase->most = by_logarithm(state, phase->least + 8, cap + 100);
    for (unsigned i = 0; i < LENGTHS; i++)
        phase->length[i] = by_logarithm(state, phase->least, phase->most);
    uint64_t mean = mean_size(phase), bytes = by_logarithm(state, 200000, 50000000);
    phase->blocks = at_most(bytes / mean + 1, BLOCKS_MOST);
    phase->steps = at_most(at_most(phase->blocks * (1 + below(state, 5)), WORK / mean + 1), STEPS_MOST);
}

struct scenario scenario_of(uint64_t number) {
    uint64_t state = number;
    struct scenario scenario = {.number = number, .phases = 1 + (unsigned)below(&state, PHASES)};
    scenario.threads = below(&state, 3) == 0 ? 2 + (unsigned)below(&state, THREADS - 1) : 1;
    for (unsigned i = 0; i < scenario.phases; i++)
        make_phase(&scenario.phase[i], &state);
    return scenario;
}

void describe_blocks(const struct phase *phase) {
    static const char *const sizes[] = {"of a few lengths", "of a range", "of a range, by logarithm"};
    printf("%llu blocks %s, %llu to %llu bytes", (unsigned long long)phase->blocks, sizes[phase->sizes],
           (unsigned long long)phase->least, (unsigned long long)phase->most);
}

const char *describe_written(const struct phase *phase) {
    static const char *const written[] = {"written whole", "written at both ends", "half written",
                                          "one in three written"};
    return written[phase->written];
}

void write_block(unsigned char *block, uint64_t size, enum written how, uint64_t *state) {
    if (!block) {
        fputs("scenario: the allocator returned NULL\n", stderr);
        exit(1);
    }
    bool whole = how == WHOLE || (how == ONE_IN_THREE && below(state, 3) == 0);
    memset(block, 1, whole ? size : how == HALF ? (size + 1) / 2 : 1);
    block[how == BOTH_ENDS ? size - 1 : 0] = 1;
}

bool scenario_words(int count, char **words, uint64_t *number, bool *describe) {
    *describe = count == 3;
    if (count >= 2 && count <= 3 && number_read("NUMBER", words[1], 0, UINT32_MAX, number) &&
        (!*describe || strcmp(words[2], "describe") == 0))
        return true;
    const char *slash = strrchr(words[0], '/');
    fprintf(stderr, "usage: %s NUMBER [describe]\n", slash ? slash + 1 : words[0]);
    return false;
}

void scenario_wait(void) {
    pthread_barrier_wait(&all_wait);
}

int scenario_run(unsigned count, void *(*thread)(void *index)) {
    pthread_t threads[THREADS];
    if (pthread_barrier_init(&all_wait, NULL, count) != 0)
        return 1;
    for (uintptr_t i = 1; i < count; i++)
        if (pthread_create(&threads[i], NULL, thread, (void *)i) != 0)
            return 1;
    thread(NULL);
    for (unsigned i = 1; i < count; i++)
        pthread_join(threads[i], NULL);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%lu %ld %.4f\n", report_peak_kb(), usage.ru_minflt,
           (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
    return 0;
}
