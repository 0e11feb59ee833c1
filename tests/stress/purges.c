/*
 * Purges: several threads give memory home at the same time, while each of them takes and frees.
 *
 * Who purges picks units that are nobody's, and advises the system about them without a lock: two threads may be at units of one
 * superslab, or of one huge page, at once, and a third one takes those beside. So every thread keeps a window of blocks of many
 * sizes, most of them with units of their own, replaces some of them, and purges. Contents are checked at every free: a page
 * that went home while its block lived reads as zeros. Run with huge pages from the first byte on, too, when each superslab keeps
 * account of the huge pages that it gave a part of home.
 */
#include "home.h"

#define THREADS 4
#define WINDOW 24
#define REPLACED 8

static size_t some_size(struct test_random *random) {
    switch (test_below(random, 4)) {
    case 0:
        return 200000 + test_below(random, 1000000);
    case 1:
        return test_size(random, 15);
    default:
        return 16384 + test_below(random, 100000);
    }
}

static void *run(void *argument) {
    struct stress_thread *thread = argument;
    size_t (*purge)(void) = HOME_FUNCTION(hakmem_purge);
    void *window[WINDOW] = {NULL};
    for (size_t i = 0; i < thread->operations; i++) {
        for (unsigned replaced = 0; replaced < REPLACED; replaced++) {
            size_t place = test_below(&thread->random, WINDOW);
            stress_free(window[place]);
            window[place] = stress_new(&thread->random, some_size(&thread->random));
        }
        if (purge != NULL)
            purge();
    }
    for (size_t place = 0; place < WINDOW; place++)
        stress_free(window[place]);
    return NULL;
}

int main(int argc, char **argv) {
    size_t rounds = stress_start(argc, argv, 1200);
    home_run(THREADS, rounds, run, 256);
    return 0;
}
