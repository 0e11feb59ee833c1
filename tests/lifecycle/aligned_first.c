/*
 * aligned_first: is what asks for alignment aligned when it is the first of its size that a thread, or a forked child, asks for?
 *
 * The first blocks of a size lodge with those of the next power of two, which begin anywhere that a line of the cache may. Twelve threads live
 * at a time, so that each has a heap that nobody has used: each begins with another alignment and goes on through all of them, with
 * sizes that are hardly more, exactly as much, and one and a half times. So does a child of each, and the process itself.
 */
#include "lifecycle.h"

enum { THREADS = 12, LEAST = 16, DOUBLINGS = 10, EACH = 6 };

static pthread_barrier_t all;

static void take(size_t alignment, size_t size) {
    void *blocks[EACH];

    for (int i = 0; i < EACH; i++) {
        blocks[i] = aligned_alloc(alignment, size);
        CHECK(blocks[i] != NULL && (uintptr_t)blocks[i] % alignment == 0);
        fill(blocks[i], size, (unsigned char)i);
    }
    for (int i = 0; i < EACH; i++) {
        verify(blocks[i], size, (unsigned char)i);
        free(blocks[i]);
    }
}

static void take_all(unsigned first) {
    for (unsigned i = 0; i < DOUBLINGS; i++) {
        size_t alignment = (size_t)LEAST << (first + i) % DOUBLINGS;
        take(alignment, alignment + alignment / 2);
        take(alignment, alignment);
        take(alignment, 2 * alignment + 1);
        take(alignment, 1);
    }
}

static void *body(void *number) {
    pthread_barrier_wait(&all);
    take_all((unsigned)(uintptr_t)number);
    pthread_barrier_wait(&all);
    return NULL;
}

static void in_child(unsigned first) {
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid == 0) {
        take_all(first);
        _exit(0);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

int main(void) {
    pthread_t threads[THREADS];

    for (unsigned first = 0; first < DOUBLINGS; first++)
        in_child(first);
    take_all(3);
    for (unsigned first = 0; first < DOUBLINGS; first++)
        in_child(first);
    pthread_barrier_init(&all, NULL, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++)
        threads[i] = start_thread(body, (void *)i);
    for (int i = 0; i < THREADS; i++)
        join_thread(threads[i]);
    return 0;
}
