/*
 * last_thread: does a process end with the last of its threads (POSIX, pthread_exit), though the library has one, too?
 *
 * Main leaves by pthread_exit, alone, before a worker, or in a forked child; hakmem's janitor sleeps then, or is in the middle of a
 * rest of an hour. The exit handlers run, with signals as the program had them, and may allocate.
 */
#include "lifecycle.h"

#include <signal.h>
#include <time.h>

enum { BLOCKS = 50000, ALL_RIGHT = 42, PATIENCE_MS = 60000 };

static void pause_ms(long ms) {
    struct timespec some = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&some, NULL);
}

/* Frees so much that the janitor comes. */
static void free_much(void) {
    static void *blocks[BLOCKS];

    take_many(blocks, BLOCKS, 200);
    free_many(blocks, BLOCKS);
    for (int ms = 0; count_threads() < 2; ms += 10) {
        CHECK(ms < PATIENCE_MS);
        pause_ms(10);
    }
}

static void at_exit(void) {
    sigset_t blocked;

    churn(5, 1000);
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    _exit(sigismember(&blocked, SIGTERM) || !sigismember(&blocked, SIGUSR1) ? 1 : ALL_RIGHT);
}

static void *outlive_main(void *unused) {
    pause_ms(200);
    churn(7, 1000);
    return unused;
}

static void end_by_last_thread(const char *how) {
    sigset_t blocked;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &blocked, NULL);
    atexit(at_exit);
    free_much();
    if (strcmp(how, "worker") == 0)
        start_thread(outlive_main, NULL);
    pthread_exit(NULL);
}

static void await_end(pid_t child) {
    int status = 0;

    CHECK(child > 0);
    for (int ms = 0; waitpid(child, &status, WNOHANG) == 0; ms += 10) {
        if (ms > PATIENCE_MS)
            kill(child, SIGKILL);
        pause_ms(10);
    }
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == ALL_RIGHT);
}

int main(int argc, char **argv) {
    static const char *const delays[] = {"20", "3600000"};

    if (count_threads() == 0)
        skip("there is no /proc");
    if (argc > 1 && strcmp(argv[1], "forked") == 0) {
        free_much();
        pid_t child = fork();
        if (child == 0)
            end_by_last_thread("alone");
        await_end(child);
        _exit(ALL_RIGHT);
    }
    if (argc > 1)
        end_by_last_thread(argv[1]);
    for (int i = 0; i < 6; i++) {
        static const char *const ways[] = {"alone", "worker", "forked"};
        pid_t child = fork();
        if (child == 0) {
            setenv("HAKMEM_PURGE_DELAY", delays[i % 2], 1);
            execl("/proc/self/exe", "last_thread", ways[i / 2], (char *)NULL);
            _exit(1);
        }
        await_end(child);
    }
    return 0;
}
