/*
 * other_clock: does hakmem go on where the program has a clock_gettime of its own that allocates?
 *
 * As libfaketime's does, whose time also stands still or runs backwards. With HAKMEM_STATS=1 calls for memory are timed under
 * locks: a clock that allocates there would wait for itself. hakmem asks the kernel instead.
 */
#include "lifecycle.h"

#include <sys/syscall.h>
#include <time.h>

enum { STEPS = 20000, SECONDS = 60 };

static unsigned asked;

int clock_gettime(clockid_t clock, struct timespec *now) {
    static __thread bool inside;
    asked++;
    if (!inside) {
        inside = true;
        churn(asked, STEPS / 100);
        inside = false;
    }
    return (int)syscall(SYS_clock_gettime, clock, now);
}

int main(void) {
    alarm(SECONDS);
    churn(1, STEPS);
    CHECK(asked == 0);
    struct timespec now;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0 && asked == 1); /* the program gets its own */
    return 0;
}
