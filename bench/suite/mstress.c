// mstress: what do blocks of mixed lifetimes cost, some of which migrate to other threads?
//
// After mstress of Daan Leijen (mimalloc-bench): rounds of threads that allocate objects of a few words, most
// of them small and few large; some die at once, some live until the end of the round, some are exchanged
// with whatever another thread left in a shared table of WS places. All threads end after each round, and new
// ones begin. An operation is one object.
#include "suite.h"

#include "../blocks.h"

enum { ROUNDS = 8, KEPT = 4096, WORD = 8 };

static void **places; // shared; exchanged atomically

struct round {
    uint64_t objects;
    uint64_t random;
    size_t places;
};

static void begin(const struct suite_settings *settings) {
    places = driver_memory(settings->working_set * sizeof *places);
}

// 1..32 words; one in 100 up to 100 times, one in 1,000 up to 1,000 times as much, as in the original.
static size_t object_size(uint64_t *random) {
    uint64_t bits = random_next(random);
    size_t words = 1 + random_below((uint32_t)bits, 32);
    size_t chance = random_below((uint32_t)(bits >> 32), 1000);
    if (chance == 0)
        words *= 1000;
    else if (chance <= 10)
        words *= 100;
    return words * WORD;
}

static void *round_run(void *argument) {
    struct round *round = argument;
    void *kept[KEPT] = {NULL};
    uint64_t random = round->random;
    for (uint64_t i = 0; i < round->objects; i++) {
        void *object = block_new(false, object_size(&random));
        uint64_t bits = random_next(&random);
        size_t fate = random_below((uint32_t)bits, 100);
        if (fate < 50) {
            void **slot = &kept[random_below((uint32_t)(bits >> 32), KEPT)];
            free(*slot);
            *slot = object;
        } else if (fate < 75) {
            void **place = &places[random_below((uint32_t)(bits >> 32), round->places)];
            // Both ways: the object's bytes go with it, the other object's bytes come.
            free(__atomic_exchange_n(place, object, __ATOMIC_ACQ_REL));
        } else {
            free(object);
        }
    }
    for (size_t i = 0; i < KEPT; i++)
        free(kept[i]);
    round->random = random;
    return NULL;
}

static uint64_t run(struct suite_thread *thread) {
    struct round round = {thread->share / ROUNDS, thread->random, thread->settings->working_set};
    for (int i = 0; i < ROUNDS; i++)
        suite_join(suite_start(round_run, &round));
    return round.objects * ROUNDS;
}

static void end(const struct suite_settings *settings) {
    for (size_t i = 0; i < settings->working_set; i++)
        free(places[i]);
}

const struct suite suite = {
    .defaults = {.iterations = 2000000, .working_set = 1000, .seed = 1, .threads = 2},
    .most = 1u << 20,
    .begin = begin,
    .run = run,
    .end = end,
};
