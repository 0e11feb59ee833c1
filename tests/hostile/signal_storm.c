/*
 * signal_storm: does a storm of signals that interrupts every system call leave the heap alone?
 *
 * A child process sends SIGUSR1, SIGPROF and SIGCHLD to this process as fast as it can; the handlers are
 * installed without SA_RESTART, so waits on locks and calls to the kernel are interrupted. Four threads fight
 * over blocks that others made. It ends when 3,000 signals have been handled.
 */
#include "hostile.h"
#include <signal.h>

enum { SIGNALS = 3000, THREADS = 4, PLACES = 64 };

static volatile sig_atomic_t handled;
static void *places[PLACES];

static void handler(int number) {
    (void)number;
    handled++;
}

static void *fight(void *argument) {
    unsigned state = (unsigned)(uintptr_t)argument * 7919u + 1;

    while (handled < SIGNALS) {
        size_t size = mixed_size(&state);
        void *block = malloc(size);
        CHECK(block != NULL);
        fill(block, size < 4096 ? size : 4096, 'f');
        free(__atomic_exchange_n(&places[next_random(&state) % PLACES], block, __ATOMIC_ACQ_REL));
    }
    return NULL;
}

static void send_for_ever(pid_t target) {
    static const int numbers[] = {SIGUSR1, SIGPROF, SIGCHLD};

    alarm(CHILD_SECONDS);
    for (unsigned i = 0; kill(target, numbers[i % 3]) == 0; i++)
        continue;
    _exit(0);
}

int main(void) {
    struct sigaction action = {.sa_handler = handler};
    pthread_t threads[THREADS];
    pid_t self = getpid();

    CHECK(sigaction(SIGUSR1, &action, NULL) == 0 && sigaction(SIGPROF, &action, NULL) == 0);
    CHECK(sigaction(SIGCHLD, &action, NULL) == 0);
    pid_t sender = fork();
    CHECK(sender >= 0);
    if (sender == 0)
        send_for_ever(self);
    for (uintptr_t i = 0; i < THREADS; i++)
        threads[i] = start_thread(fight, (void *)(i + 1));
    for (int i = 0; i < THREADS; i++)
        join_thread(threads[i]);
    CHECK(kill(sender, SIGKILL) == 0);
    while (waitpid(sender, NULL, 0) < 0)
        CHECK(errno == EINTR);
    for (int i = 0; i < PLACES; i++)
        free(places[i]);
    churn(1, 1000);
    return 0;
}
