// thread_churn: threads that are born, run 1,000 steps of the mixed workload and die, one after the other.
//
// They share the worker's slots, so that most blocks outlive the thread that allocated them and are freed by
// another one. The cost of creating a thread is part of each allocator's figure; BENCH_EMPTY=1 prices it.
#include "blocks.h"

#include <pthread.h>

enum { STEPS_OF_A_THREAD = 1000 };

struct burst {
    struct worker *worker;
    uint64_t steps;
};

static void *burst_run(void *argument) {
    struct burst *burst = argument;
    mixed_steps(burst->worker, burst->steps);
    return NULL;
}

void thread_churn_steps(struct worker *worker, uint64_t steps) {
    while (steps) {
        struct burst burst = {worker, steps < STEPS_OF_A_THREAD ? steps : STEPS_OF_A_THREAD};
        pthread_t thread;
        if (pthread_create(&thread, NULL, burst_run, &burst) != 0) {
            fputs("bench: no new thread\n", stderr);
            exit(1);
        }
        pthread_join(thread, NULL);
        steps -= burst.steps;
    }
}
