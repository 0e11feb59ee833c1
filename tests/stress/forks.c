/*
 * Forks while other threads allocate, free and resize.
 *
 * Four threads exchange blocks of many sizes in a shared table, so that now one lock of the allocator is held, now
 * another; the main thread does the same and forks now and then. Each child has
 * only the forking thread: it must find every block of the table whole, free them all, whoever allocated them, and
 * go on to allocate and free on its own, fork a grandchild that does the same, and end. A child that hangs is ended by
 * its alarm, and none outlives its parent.
 */
#include "home.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define THREADS 4
#define PLACES 256
#define CHILD_SECONDS 120

static _Atomic(void *) table[PLACES];
static atomic_bool ending;

static void exchange_some(struct test_random *random, size_t times) {
    for (size_t i = 0; i < times; i++) {
        void *block = stress_new(random, test_size(random, test_below(random, 4) == 0 ? 17 : 10));
        stress_free(
            atomic_exchange_explicit(&table[test_below(random, PLACES)], block, memory_order_acq_rel));
    }
}

/* Blocks that nobody looks at: nearly all the time goes into the allocator, most of it under a lock. */
static void turn_over(struct test_random *random, size_t times) {
    for (size_t i = 0; i < times; i++)
        tested_free(tested_malloc(40000 + test_below(random, 400000)));
}

static void *run(void *argument) {
    struct stress_thread *thread = argument;
    while (!atomic_load_explicit(&ending, memory_order_relaxed)) {
        exchange_some(&thread->random, 8);
        turn_over(&thread->random, 400);
    }
    return NULL;
}

/* What every child does first, whichever generation it is. */
static void live_as_child(struct test_random *random, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(3);
    alarm(CHILD_SECONDS);
    for (size_t i = 0; i < PLACES; i++)
        stress_free(atomic_exchange(&table[i], NULL));
    exchange_some(random, 300);
}

static void wait_for(pid_t child, const char *who) {
    int status = -1;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
        test_fail("a %s was ended by signal %d", who, WTERMSIG(status));
    if (status != 0)
        test_fail("a %s ended with status %d", who, WEXITSTATUS(status));
}

static _Noreturn void in_child(struct test_random *random, pid_t parent) {
    live_as_child(random, parent);
    pid_t self = getpid();
    pid_t child = fork();
    if (child < 0)
        test_fail("fork in a child failed");
    if (child == 0) {
        live_as_child(random, self);
        _exit(0);
    }
    wait_for(child, "grandchild");
    _exit(0);
}

static void fork_once(struct test_random *random) {
    pid_t self = getpid();
    pid_t child = fork();
    if (child < 0)
        test_fail("fork failed");
    if (child == 0)
        in_child(random, self);
    wait_for(child, "child");
}

static void *run_main(void *argument) {
    struct stress_thread *thread = argument;
    for (size_t i = 0; i < thread->operations; i++) {
        exchange_some(&thread->random, 50);
        fork_once(&thread->random);
    }
    atomic_store(&ending, true);
    return NULL;
}

static void *run_any(void *argument) {
    struct stress_thread *thread = argument;
    return thread->number == 0 ? run_main(argument) : run(argument);
}

int main(int argc, char **argv) {
    size_t times = stress_start(argc, argv, 120);
    home_start(THREADS + 1);
    stress_threads(0, THREADS + 1, times, run_any);
    for (size_t i = 0; i < PLACES; i++)
        stress_free(atomic_load(&table[i]));
    home_check(128);
    return 0;
}
