// larson: what does a server cost that replaces random blocks while its threads come and go?
//
// After Larson and Krishnan, "Memory allocation for long-running server applications" (ISMM 1998): each
// thread owns WS blocks of 8..1000 bytes and replaces random ones; after a while it hands all of them to a
// new thread and ends, so that most blocks are freed by a thread that did not allocate them. An operation is
// one replacement.
#include "suite.h"

#include "../blocks.h"

enum { SMALLEST = 8, LARGEST = 1000, LIVES = 8 }; // lives: generations of threads in a run

struct life {
    void **blocks;
    size_t working_set;
    uint64_t steps;
    uint64_t random;
};

static void *life_run(void *argument) {
    struct life *life = argument;
    uint64_t random = life->random;
    for (uint64_t i = 0; i < life->steps; i++) {
        uint64_t bits = random_next(&random);
        void **slot = &life->blocks[random_below((uint32_t)bits, life->working_set)];
        free(*slot);
        *slot = block_new(false, random_between((uint32_t)(bits >> 32), SMALLEST, LARGEST));
    }
    life->random = random;
    return NULL;
}

static uint64_t run(struct suite_thread *thread) {
    size_t working_set = thread->settings->working_set;
    struct life life = {
        .blocks = driver_memory(working_set * sizeof(void *)),
        .working_set = working_set,
        .steps = thread->share / LIVES,
        .random = thread->random,
    };
    for (int i = 0; i < LIVES; i++)
        suite_join(suite_start(life_run, &life));
    for (size_t i = 0; i < working_set; i++)
        free(life.blocks[i]);
    return life.steps * LIVES;
}

const struct suite suite = {
    .defaults = {.iterations = 4000000, .working_set = 1000, .seed = 1, .threads = 2},
    .most = 1u << 24,
    .run = run,
};
