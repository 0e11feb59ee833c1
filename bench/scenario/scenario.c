// scenario: one random program for each number. What do allocators hold, and how long do they take, where nobody has chosen the program?
//
//     scenario NUMBER            prints "<peak resident KiB> <page faults> <seconds of CPU time>"
//     scenario NUMBER describe   also says, before, what the program does
//
// A scenario has one to four phases, one to four threads that do the same in each, and wait for each other between them. A phase has blocks of a few
// lengths, or of a range, evenly or by their logarithm (8 bytes to 2 MB; 0.2 to 50 MB together); places for them that are refilled at random, in
// order, as a stack, or all filled and then all freed; now and then with realloc. Blocks are written whole, or only at both ends, in half, or one in three. After a
// phase all of its blocks are freed, or some stay until a later one. The same number is the same scenario under every allocator.
#define _POSIX_C_SOURCE 200809L

#include "../driver.h"
#include "../numbers.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { PHASES = 4, LENGTHS = 8, THREADS = 4, WORK = 400000000, STEPS_MOST = 1500000, BLOCKS_MOST = 400000 };
enum sizes { LISTED, EVEN, BY_LOGARITHM, SIZES };
enum order { AT_RANDOM, IN_ORDER, STACK, WAVES, ORDERS };
enum written { WHOLE, BOTH_ENDS, HALF, ONE_IN_THREE };

struct phase {
    enum sizes sizes;
    enum order order;
    enum written written;
    unsigned lengths;
    uint64_t length[LENGTHS], least, most;
    uint64_t blocks, steps; // of all threads
    bool grows;             // by realloc, half of the time
    bool leaves;            // some blocks
};

struct scenario {
    uint64_t number;
    unsigned phases, threads;
    struct phase phase[PHASES];
};

struct places {
    unsigned char **block;
    uint64_t count, next, top;
};

static struct scenario scenario;
static pthread_barrier_t phase_ends;

// splitmix64 (Steele, Lea, Flood 2014).
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static uint64_t below(uint64_t *state, uint64_t bound) {
    return next_random(state) % bound;
}

// From `least` to `most`, each doubling as likely as the others.
static uint64_t by_logarithm(uint64_t *state, uint64_t least, uint64_t most) {
    double share = (double)below(state, 1000000) / 1e6;
    return (uint64_t)exp(log((double)least) + (log((double)most) - log((double)least)) * share);
}

static uint64_t size_of_next(const struct phase *phase, uint64_t *state) {
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

static void make_scenario(uint64_t number) {
    uint64_t state = number;
    scenario.number = number;
    scenario.phases = 1 + (unsigned)below(&state, PHASES);
    scenario.threads = below(&state, 3) == 0 ? 2 + (unsigned)below(&state, THREADS - 1) : 1;
    for (unsigned i = 0; i < scenario.phases; i++)
        make_phase(&scenario.phase[i], &state);
}

static void describe(void) {
    static const char *const sizes[] = {"of a few lengths", "of a range", "of a range, by logarithm"};
    static const char *const orders[] = {"refilled at random", "refilled in order", "a stack",
                                         "all filled, all freed"};
    static const char *const written[] = {"written whole", "written at both ends", "half written",
                                          "one in three written"};
    printf("%u phases, %u threads\n", scenario.phases, scenario.threads);
    for (unsigned i = 0; i < scenario.phases; i++) {
        const struct phase *phase = &scenario.phase[i];
        printf("%llu blocks %s, %llu to %llu bytes, %s, %s%s%s; %llu steps\n",
               (unsigned long long)phase->blocks, sizes[phase->sizes], (unsigned long long)phase->least,
               (unsigned long long)phase->most, orders[phase->order], written[phase->written],
               phase->grows ? ", realloc" : "", phase->leaves ? ", some stay" : "",
               (unsigned long long)phase->steps);
    }
}

static void write_block(unsigned char *block, uint64_t size, enum written how, uint64_t *state) {
    if (!block) {
        fputs("scenario: the allocator returned NULL\n", stderr);
        exit(1);
    }
    bool whole = how == WHOLE || (how == ONE_IN_THREE && below(state, 3) == 0);
    memset(block, 1, whole ? size : how == HALF ? (size + 1) / 2 : 1);
    block[how == BOTH_ENDS ? size - 1 : 0] = 1;
}

static void free_place(struct places *places, uint64_t at) {
    free(places->block[at]);
    places->block[at] = NULL;
}

static void free_all(struct places *places) {
    for (uint64_t i = 0; i < places->count; i++)
        free_place(places, i);
}

// The place that is to be filled next; `count` when this step is a free.
static uint64_t next_place(enum order order, struct places *places, uint64_t *state) {
    switch (order) {
    case AT_RANDOM:
        return below(state, places->count);
    case IN_ORDER:
        return places->next++ % places->count;
    case STACK:
        if (places->top == 0 || (places->top < places->count && below(state, 100) < 60))
            return places->top++;
        free_place(places, --places->top);
        return places->count;
    default:
        if (places->next == places->count) {
            free_all(places);
            places->next = 0;
        }
        return places->next++;
    }
}

static void run_phase(const struct phase *phase, struct places *places, uint64_t *state) {
    for (uint64_t step = 0; step < phase->steps / scenario.threads; step++) {
        uint64_t at = next_place(phase->order, places, state), size = size_of_next(phase, state);
        if (at == places->count)
            continue;
        unsigned char **block = &places->block[at];
        if (phase->grows && *block && below(state, 2) == 0) {
            *block = realloc(*block, size);
        } else {
            free(*block);
            *block = malloc(size);
        }
        write_block(*block, size, phase->written, state);
    }
}

// What one in two to seven has, if the phase leaves some.
static void end_phase(const struct phase *phase, struct places *places, uint64_t *state) {
    uint64_t stays = phase->leaves ? 2 + below(state, 6) : 0;
    for (uint64_t i = 0; i < places->count; i++)
        if (stays == 0 || i % stays != 0)
            free_place(places, i);
}

static void *run(void *thread) {
    struct places places[PHASES] = {{0}};
    uint64_t state = scenario.number * THREADS + (uintptr_t)thread + 1;
    for (unsigned i = 0; i < scenario.phases; i++) {
        places[i].count = scenario.phase[i].blocks / scenario.threads + 1;
        places[i].block = calloc(places[i].count, sizeof *places[i].block);
        if (!places[i].block)
            write_block(NULL, 0, WHOLE, &state);
        run_phase(&scenario.phase[i], &places[i], &state);
        if (i > 0 && below(&state, 2) == 0)
            free_all(&places[i - 1]);
        end_phase(&scenario.phase[i], &places[i], &state);
        pthread_barrier_wait(&phase_ends);
    }
    for (unsigned i = 0; i < scenario.phases; i++) {
        free_all(&places[i]);
        free(places[i].block);
    }
    return NULL;
}

int main(int count, char **words) {
    uint64_t number = 0;
    if (count < 2 || count > 3 || !number_read("NUMBER", words[1], 0, UINT32_MAX, &number) ||
        (count == 3 && strcmp(words[2], "describe") != 0)) {
        fputs("usage: scenario NUMBER [describe]\n", stderr);
        return 2;
    }
    make_scenario(number);
    if (count == 3)
        describe();
    pthread_t threads[THREADS];
    if (pthread_barrier_init(&phase_ends, NULL, scenario.threads) != 0)
        return 1;
    for (uintptr_t i = 1; i < scenario.threads; i++)
        if (pthread_create(&threads[i], NULL, run, (void *)i) != 0)
            return 1;
    run(NULL);
    for (unsigned i = 1; i < scenario.threads; i++)
        pthread_join(threads[i], NULL);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%lu %ld %.4f\n", report_peak_kb(), usage.ru_minflt,
           (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
    return 0;
}
