/*
 * cancellation: is no entry point a cancellation point, and does a cancelled thread leave a sound heap?
 *
 * POSIX forbids malloc and free to act on a pending cancellation. 1. A thread with a cancellation pending
 * allocates and frees through every slow path (new mappings, growth, give-back) and must live until its own
 * pthread_testcancel. 2. Threads that wait on a pipe are cancelled there with blocks alive, which their
 * clean-up handlers free. 3. Threads in asynchronous mode spin outside the allocator and are cancelled
 * there. 15 rounds; then the heap must still work.
 */
#include "lifecycle.h"

enum { ROUNDS = 15 };

static int pipe_ends[2];
static volatile bool pending_survived, spinning;

static void *with_pending(void *argument) {
    (void)argument;
    CHECK(pthread_cancel(pthread_self()) == 0);
    churn(31, 400);
    for (size_t size = 1u << 20; size <= 16u << 20; size += 3u << 20) {
        void *block = calloc(1, size);
        CHECK(block != NULL);
        block = realloc(block, size * 2);
        CHECK(block != NULL);
        free(block);
    }
    malloc_trim(0);
    pending_survived = true;
    pthread_testcancel();
    return NULL;
}

static void clean_up(void *block) {
    verify(block, 5000, 'b');
    free(block);
    churn(32, 50);
}

static void *wait_for_ever(void *argument) {
    char byte;
    void *block = malloc(5000);

    (void)argument;
    CHECK(block != NULL);
    fill(block, 5000, 'b');
    pthread_cleanup_push(clean_up, block);
    while (read(pipe_ends[0], &byte, 1) < 0)
        continue;
    pthread_cleanup_pop(0);
    return NULL;
}

static void *spin_for_ever(void *argument) {
    void *block = malloc(5000);

    (void)argument;
    CHECK(block != NULL);
    fill(block, 5000, 'b');
    pthread_cleanup_push(clean_up, block);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;)
        spinning = true;
    pthread_cleanup_pop(0);
    return NULL;
}

int main(void) {
    CHECK(pipe(pipe_ends) == 0);
    for (int round = 0; round < ROUNDS; round++) {
        pending_survived = spinning = false;
        CHECK(join_thread(start_thread(with_pending, NULL)) == PTHREAD_CANCELED && pending_survived);
        pthread_t waiter = start_thread(wait_for_ever, NULL), spinner = start_thread(spin_for_ever, NULL);
        while (!spinning)
            sched_yield();
        CHECK(pthread_cancel(waiter) == 0 && pthread_cancel(spinner) == 0);
        join_thread(waiter);
        CHECK(join_thread(spinner) == PTHREAD_CANCELED);
        churn(33, 50);
    }
    return 0;
}
