/*
 * fork_in_handler: may a signal's handler fork that has interrupted malloc or free, in a program of one thread?
 *
 * POSIX has fork among the functions that a handler may call until its issue of 2024, and programs that report their own crashes do. libc's malloc allows it where the
 * program has one thread; the library may have one of its own by then (64 MiB were freed), which changes nothing for the
 * program. The child does not allocate. Small blocks first, then large ones.
 */
#include "lifecycle.h"

#include <signal.h>
#include <sys/time.h>

enum { FORKS = 600, SLOTS_HERE = 5000, REST = 300000, US = 1000 };

static volatile sig_atomic_t forks;

static void handler(int number) {
    int saved = errno;
    pid_t pid = fork();
    (void)number;
    if (pid == 0)
        _exit(0);
    await_child(pid);
    forks++;
    errno = saved;
}

static void allocate(size_t least, size_t range, int until) {
    static unsigned char *blocks[SLOTS_HERE];
    unsigned random = 1, slots = (unsigned)(least > 20000 ? 100 : SLOTS_HERE);
    while (forks < until) {
        random = random * 1103515245 + 12345;
        unsigned i = (random >> 8) % slots;
        size_t size = least + (random >> 4) % range;
        free(blocks[i]);
        blocks[i] = malloc(size);
        CHECK(blocks[i] != NULL);
        blocks[i][0] = blocks[i][size - 1] = 1;
    }
    for (unsigned i = 0; i < slots; i++) {
        free(blocks[i]);
        blocks[i] = NULL;
    }
}

int main(void) {
    static void *resting[REST];
    struct sigaction action = {.sa_handler = handler};
    struct itimerval every = {{0, US}, {0, US}}, never = {{0, 0}, {0, 0}};

    take_many(resting, REST, 200);
    free_many(resting, REST);
    alarm(CHILD_SECONDS);
    CHECK(sigaction(SIGPROF, &action, NULL) == 0);
    CHECK(setitimer(ITIMER_PROF, &every, NULL) == 0);
    allocate(16, 2000, FORKS);
    allocate(40000, 400000, 2 * FORKS);
    CHECK(setitimer(ITIMER_PROF, &never, NULL) == 0);
    alarm(0);
    return 0;
}
