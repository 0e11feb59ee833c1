// fork_storm: what does fork cost a process with a heap of WS blocks, and the child its first allocations?
//
// After lat_proc of lmbench (McVoy and Staelin, USENIX 1996), with a heap: the parent forks, the child frees
// and allocates 100 of the inherited blocks (each write to a shared page costs a copy) and exits; the
// parent waits. An allocator that spreads blocks, writes into them on free, or does much in its fork handlers
// pays here. An operation is one child.
#include "suite.h"

#include "../blocks.h"

#include <sys/wait.h>
#include <unistd.h>

enum { SMALLEST = 16, LARGEST = 1024, STEPS = 100 };

static void **slots;

static void begin(const struct suite_settings *settings) {
    uint64_t random = settings->seed + 1;
    slots = driver_memory(settings->working_set * sizeof *slots);
    for (size_t i = 0; i < settings->working_set; i++)
        slots[i] =
            block_new(false, random_between((uint32_t)(random_next(&random) >> 32), SMALLEST, LARGEST));
}

static void child_work(size_t working_set, uint64_t random) {
    for (int i = 0; i < STEPS; i++) {
        uint64_t bits = random_next(&random);
        void **slot = &slots[random_below((uint32_t)bits, working_set)];
        free(*slot);
        *slot = block_new(false, random_between((uint32_t)(bits >> 32), SMALLEST, LARGEST));
    }
}

static uint64_t run(struct suite_thread *thread) {
    for (uint64_t i = 0; i < thread->share; i++) {
        pid_t child = fork();
        if (child == 0) {
            child_work(thread->settings->working_set, thread->random + i + 1);
            _exit(0);
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            suite_fail("a child failed");
    }
    return thread->share;
}

static void end(const struct suite_settings *settings) {
    for (size_t i = 0; i < settings->working_set; i++)
        free(slots[i]);
}

const struct suite suite = {
    .defaults = {.iterations = 100, .working_set = 5000, .seed = 1, .threads = 1},
    .most = 1u << 24,
    .begin = begin,
    .run = run,
    .end = end,
};
