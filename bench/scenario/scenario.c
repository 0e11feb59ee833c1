// scenario: one random program for each number. What do allocators hold, and how long do they take, where nobody has chosen the program?
//
//     scenario NUMBER            prints "<peak resident KiB> <page faults> <seconds of CPU time>"
//     scenario NUMBER describe   also says, before, what the program does
//
// One to four threads do the same in each phase (phases.h), and wait for each other between them: places that are refilled at random, in order, as
// a stack, or all filled and then all freed; now and then with realloc. After a phase all of its blocks are freed, or some stay until a later one.
#include "phases.h"

#include <stdio.h>
#include <stdlib.h>

struct places {
    unsigned char **block;
    uint64_t count, next, top;
};

static struct scenario scenario;

static void describe(void) {
    static const char *const orders[] = {"refilled at random", "refilled in order", "a stack",
                                         "all filled, all freed"};
    printf("%u phases, %u threads\n", scenario.phases, scenario.threads);
    for (unsigned i = 0; i < scenario.phases; i++) {
        const struct phase *phase = &scenario.phase[i];
        describe_blocks(phase);
        printf(", %s, %s%s%s; %llu steps\n", orders[phase->order], describe_written(phase),
               phase->grows ? ", realloc" : "", phase->leaves ? ", some stay" : "",
               (unsigned long long)phase->steps);
    }
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
        scenario_wait();
    }
    for (unsigned i = 0; i < scenario.phases; i++) {
        free_all(&places[i]);
        free(places[i].block);
    }
    return NULL;
}

int main(int count, char **words) {
    uint64_t number = 0;
    bool described = false;
    if (!scenario_words(count, words, &number, &described))
        return 2;
    scenario = scenario_of(number);
    if (described)
        describe();
    return scenario_run(scenario.threads, run);
}
