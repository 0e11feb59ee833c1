/*
 * fork_in_fork: may a signal's handler fork that has interrupted a fork, in a program of one thread?
 *
 * The library has a thread of its own by then (60 MB were freed), so each fork takes the library's locks. If the handler's fork takes them for
 * what its own thread holds in the midst of its work, they are held for good once both have returned. The child and the program allocate between
 * forks; and the signals that are blocked stay the same.
 */
#include "lifecycle.h"

#include <signal.h>
#include <sys/time.h>

enum { FORKS = 400, REST = 300000, US = 4000 };

static volatile sig_atomic_t within;

static void handler(int number) {
    int saved = errno;
    pid_t pid = fork();
    (void)number;
    if (pid == 0)
        _exit(0);
    await_child(pid);
    within++;
    errno = saved;
}

static void check_signals(void) {
    sigset_t blocked;
    CHECK(sigprocmask(SIG_SETMASK, NULL, &blocked) == 0);
    for (int number = 1; number <= 31; number++)
        CHECK(sigismember(&blocked, number) == (number == SIGUSR1));
}

int main(void) {
    static void *resting[REST];
    struct sigaction action = {.sa_handler = handler};
    struct itimerval every = {{0, US}, {0, US}}, never = {{0, 0}, {0, 0}};
    sigset_t some;

    sigemptyset(&some);
    sigaddset(&some, SIGUSR1);
    CHECK(sigprocmask(SIG_SETMASK, &some, NULL) == 0);
    take_many(resting, REST, 200);
    free_many(resting, REST);
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
    for (unsigned i = 0; i < FORKS; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            check_signals();
            churn(i, 20);
            _exit(0);
        }
        await_child(pid);
        check_signals();
        churn(i, 20);
    }
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    CHECK(within > 0);
    return 0;
}
