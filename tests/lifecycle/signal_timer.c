/*
 * signal_timer: may a signal handler that does not allocate interrupt malloc anywhere?
 *
 * A timer fires every 200 microseconds while two threads and the main one allocate; the handler spoils errno
 * as careless handlers do not (it restores it), uses the floating point and vector registers, and runs on
 * whatever stack was there. The run lasts until 400 signals have arrived. Contents must be intact and no
 * call may fail because a system call was interrupted.
 */
#include "lifecycle.h"
#include <signal.h>
#include <sys/time.h>

enum { SIGNALS = 400, THREADS = 2 };

static volatile sig_atomic_t arrived;
static volatile double spoiled;

static void handler(int number) {
    int saved = errno;
    char copy[256];

    memset(copy, number, sizeof copy);
    spoiled = spoiled * 0.5 + copy[17];
    (void)getppid();
    errno = saved;
    arrived++;
}

static void *allocate(void *argument) {
    for (unsigned seed = (unsigned)(uintptr_t)argument; arrived < SIGNALS; seed++)
        churn(seed, 200);
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    struct sigaction action = {.sa_handler = handler};
    struct itimerval every = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};

    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        threads[i] = start_thread(allocate, (void *)(i + 1));
    allocate((void *)10);
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        join_thread(threads[i]);
    return 0;
}
