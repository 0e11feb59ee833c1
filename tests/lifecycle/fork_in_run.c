/*
 * fork_in_run: what becomes of a long run of frees in the middle of which a process forks, or a thread ends?
 *
 * The parent frees the first half of its blocks one after the other, and forks. The child goes on with the run, takes as many
 * blocks as were freed, and has lost none of the others; so does its own child, and the parent. A thread ends in the middle of
 * such a run: others use its memory again, so that rounds of threads do not grow.
 */
#include "lifecycle.h"

enum { BLOCKS = 60000, SIZE = 48, GENERATIONS = 3, THREADS = 40, GROWTH_KIB = 4096 };

static unsigned char *blocks[BLOCKS];

static void take(int from, int to) {
    for (int i = from; i < to; i++) {
        blocks[i] = malloc(SIZE);
        CHECK(blocks[i] != NULL);
        fill(blocks[i], SIZE, (unsigned char)(i % 251));
    }
}

static void give(int from, int to) {
    for (int i = from; i < to; i++) {
        verify(blocks[i], SIZE, (unsigned char)(i % 251));
        free(blocks[i]);
    }
}

static void verify_all(void) {
    for (int i = 0; i < BLOCKS; i++)
        verify(blocks[i], SIZE, (unsigned char)(i % 251));
}

static void go_on(int generation) {
    give(0, BLOCKS / 2);
    pid_t child = generation < GENERATIONS ? fork() : 1;
    CHECK(child >= 0);
    give(BLOCKS / 2, BLOCKS / 2 + 100);
    take(0, BLOCKS / 2 + 100);
    verify_all();
    if (child == 0) {
        go_on(generation + 1);
        give(0, BLOCKS);
        _exit(0);
    }
    if (generation < GENERATIONS)
        await_child(child);
    verify_all();
}

static void *end_in_run(void *ignored) {
    take(0, BLOCKS);
    give(0, BLOCKS * 3 / 4); /* and the others by whoever comes next */
    return ignored;
}

int main(void) {
    take(0, BLOCKS);
    go_on(0);
    give(0, BLOCKS);
    long before = 0;
    for (int i = 0; i < THREADS; i++) {
        join_thread(start_thread(end_in_run, NULL));
        give(BLOCKS * 3 / 4, BLOCKS);
        if (i == THREADS / 4)
            before = status_kib("VmHWM:");
    }
    CHECK(status_kib("VmHWM:") - before < GROWTH_KIB);
    return 0;
}
