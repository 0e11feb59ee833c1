/*
 * contexts: may coroutines on small stacks of their own (makecontext, swapcontext) use the heap?
 *
 * 100 contexts with 64 KiB stacks, which themselves came from malloc, allocate and free in turn: each yields
 * to the next between its steps, so every block is freed in another context than the one that ran before.
 * Once in the main thread, once in a second thread. The heap must not depend on which stack it runs on.
 */
#include "lifecycle.h"
#include <ucontext.h>

enum { CONTEXTS = 100, STEPS = 30, STACK = 64 << 10 };

static __thread ucontext_t contexts[CONTEXTS], home;
static __thread void *passed[CONTEXTS];

static void coroutine(int number) {
    int next = (number + 1) % CONTEXTS;

    for (int step = 0; step < STEPS; step++) {
        if (passed[number] != NULL)
            verify(passed[number], 500 + (size_t)number * 400, (unsigned char)number);
        free(passed[number]);
        passed[number] = NULL;
        passed[next] = malloc(500 + (size_t)next * 400);
        CHECK(passed[next] != NULL);
        fill(passed[next], 500 + (size_t)next * 400, (unsigned char)next);
        churn((unsigned)(number + 1), 5);
        CHECK(swapcontext(&contexts[number], step == STEPS - 1 && next == 0 ? &home : &contexts[next]) == 0);
    }
}

static void *run(void *argument) {
    void *stacks[CONTEXTS];

    for (int i = 0; i < CONTEXTS; i++) {
        stacks[i] = malloc(STACK);
        CHECK(stacks[i] != NULL && getcontext(&contexts[i]) == 0);
        contexts[i].uc_stack.ss_sp = stacks[i];
        contexts[i].uc_stack.ss_size = STACK;
        contexts[i].uc_link = &home;
        makecontext(&contexts[i], (void (*)(void))coroutine, 1, i);
    }
    CHECK(swapcontext(&home, &contexts[0]) == 0);
    for (int i = 0; i < CONTEXTS; i++) {
        free(stacks[i]);
        free(passed[i]);
        passed[i] = NULL;
    }
    return argument;
}

int main(void) {
    run(NULL);
    join_thread(start_thread(run, NULL));
    return 0;
}
