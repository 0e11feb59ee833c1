/*
 * Hands: several threads take and free large blocks by turns, so that each has some of its own at hand.
 *
 * What is at hand is the thread's own until somebody who gives memory home takes it away, or the thread goes. So there are
 * rounds of threads that begin and end; each replaces blocks in a window, swaps some with other threads, grows and shrinks
 * some, rests now and then with its hand as it is, and gives everything home now and then, while the others go on. Contents
 * are checked at every free: a block that two threads found, at hand and where all find it, would be written by both.
 */
#include "home.h"

#include <time.h>

#define THREADS 6
#define ROUNDS 4
#define WINDOW 10
#define SWAPPED 8
#define PURGES 64 /* one of so many steps gives everything home */
#define RESTS 256

static _Atomic(void *) swapped[SWAPPED];

static size_t some_size(struct test_random *random) {
    return test_below(random, 8) == 0 ? 300000 + test_below(random, 900000)
                                      : 33000 + test_below(random, 170000);
}

static void *swap(struct test_random *random, void *block) {
    return atomic_exchange(&swapped[test_below(random, SWAPPED)], block);
}

static void *run(void *argument) {
    struct stress_thread *thread = argument;
    struct test_random *random = &thread->random;
    size_t (*purge)(void) = HOME_FUNCTION(hakmem_purge);
    void *window[WINDOW] = {NULL};
    for (size_t i = 0; i < thread->operations; i++) {
        void **place = &window[test_below(random, WINDOW)];
        if (*place != NULL && test_below(random, 8) == 0) {
            *place = stress_resize(random, *place, some_size(random));
        } else {
            stress_free(*place);
            *place = stress_new(random, some_size(random));
        }
        if (test_below(random, 4) == 0)
            *place = swap(random, *place);
        if (purge != NULL && test_below(random, PURGES) == 0)
            purge();
        if (test_below(random, RESTS) == 0)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    for (size_t place = 0; place < WINDOW; place++)
        stress_free(window[place]);
    return NULL;
}

int main(int argc, char **argv) {
    size_t steps = stress_start(argc, argv, 1600);
    home_start(THREADS);
    for (unsigned round = 0; round < ROUNDS; round++)
        stress_threads(round * THREADS, THREADS, steps, run);
    for (unsigned place = 0; place < SWAPPED; place++)
        stress_free(atomic_load(&swapped[place]));
    home_check(256);
    return 0;
}
