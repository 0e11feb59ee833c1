/*
 * own_address: a program that is loaded where it was linked to be, and has taken the address of calloc: so that all mean the same by it, that is a place
 * in the program for everybody, the library too. No other library stands before it for that: there is a thread, and what rests goes home while all sleep.
 */
#include "hostile.h"

enum { BLOCKS = 400000, SIZE = 200, LOOKS = 300 };

extern const char etext[]; /* the end of the program's code (end(3)) */

static void *wait_with_heap(void *ends) {
    free(memset(malloc(1000), 1, 1000));
    pthread_barrier_wait(ends);
    pthread_barrier_wait(ends);
    return NULL;
}

int main(void) {
    static void *blocks[BLOCKS];
    pthread_barrier_t ends;

    void *(*volatile allocate)(size_t, size_t) = calloc;
    if ((uintptr_t)allocate >= (uintptr_t)etext)
        skip("the address of a library's function is not a place in the program");
    CHECK(pthread_barrier_init(&ends, NULL, 2) == 0);
    pthread_t thread = start_thread(wait_with_heap, &ends);
    pthread_barrier_wait(&ends);
    for (size_t i = 0; i < BLOCKS; i++)
        CHECK((blocks[i] = memset(allocate(1, SIZE), 1, SIZE)) != NULL);
    long full = rss_kib();
    free_many(blocks, BLOCKS);
    int looks = 0;
    while (rss_kib() > full / 2 && looks++ < LOOKS)
        usleep(100000);
    CHECK(looks < LOOKS);
    pthread_barrier_wait(&ends);
    join_thread(thread);
    return 0;
}
