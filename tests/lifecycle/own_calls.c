/*
 * own_calls: does hakmem go on where the program has a clock_gettime and an fstat of its own that allocate?
 *
 * As libfaketime's do, whose time also stands still or runs backwards. With HAKMEM_STATS=1 standard error is looked at, and calls
 * for memory are timed, under locks: what allocates there would wait for itself. hakmem asks the kernel instead.
 */
#include "lifecycle.h"

#include <sys/syscall.h>
#include <time.h>

enum { STEPS = 20000, SECONDS = 60 };

static unsigned asked;

static void allocate(void) {
    static __thread bool inside;
    asked++;
    if (!inside) {
        inside = true;
        churn(asked, STEPS / 100);
        inside = false;
    }
}

int fstat(int fd, struct stat *file) {
    allocate();
    return (int)syscall(SYS_fstat, fd, file);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    allocate();
    return (int)syscall(SYS_clock_gettime, clock, now);
}

int main(void) {
    alarm(SECONDS);
    churn(1, STEPS);
    CHECK(asked == 0);
    struct timespec now;
    struct stat file;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0 && asked == 1); /* the program gets its own */
    CHECK(fstat(STDERR_FILENO, &file) == 0 && asked == 2);
    return 0;
}
