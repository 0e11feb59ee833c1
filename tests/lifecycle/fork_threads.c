/*
 * fork_threads: may a program fork while its other threads are inside malloc and free?
 *
 * Two threads allocate without pause; the main thread forks 200 times. Each child, in which only the main
 * thread exists, verifies and frees blocks that the parent's main thread made, blocks of the other threads,
 * allocates on its own, and every tenth starts a thread and forks again. A lock or a half-done update that
 * the fork copied would hang or corrupt the child: its alarm ends it, and the parent says so.
 */
#include "lifecycle.h"

enum { FORKS = 200, THREADS = 2, SHARED = 64 };

static volatile bool stop;
static void *made_by_main[SHARED], *made_by_thread[SHARED];

/* Mostly blocks that are too large for anything but the shared parts of a heap: their locks are busy. */
static void *allocate(void *argument) {
    for (unsigned seed = (unsigned)(uintptr_t)argument; !stop; seed += THREADS) {
        churn(seed, 50);
        for (size_t i = 0; i < 2000; i++) {
            void *medium = malloc(40000 + i * 50), *large = i % 20 == 0 ? malloc(1500000) : NULL;
            CHECK(medium != NULL);
            free(medium);
            free(large);
        }
    }
    return NULL;
}

static void make(void **blocks, unsigned char mark) {
    for (size_t i = 0; i < SHARED; i++) {
        blocks[i] = malloc(i * i * 20 + 1);
        CHECK(blocks[i] != NULL);
        fill(blocks[i], i * i * 20 + 1, mark);
    }
}

static void unmake(void **blocks, unsigned char mark) {
    for (size_t i = 0; i < SHARED; i++) {
        verify(blocks[i], i * i * 20 + 1, mark);
        free(blocks[i]);
    }
}

static void *make_in_thread(void *argument) {
    (void)argument;
    make(made_by_thread, 't');
    return NULL;
}

static void *one_churn(void *argument) {
    churn((unsigned)(uintptr_t)argument, 200);
    return NULL;
}

static void child(int number) {
    alarm(CHILD_SECONDS);
    unmake(made_by_main, 'm');
    churn((unsigned)number + 1000, 200);
    unmake(made_by_thread, 't');
    if (number % 10 == 0) {
        join_thread(start_thread(one_churn, (void *)5));
        pid_t pid = fork();
        if (pid == 0) {
            churn(2000, 200);
            _exit(0);
        }
        await_child(pid);
    }
    _exit(0);
}

int main(void) {
    pthread_t threads[THREADS];

    make(made_by_main, 'm');
    join_thread(start_thread(make_in_thread, NULL));
    for (uintptr_t i = 0; i < THREADS; i++)
        threads[i] = start_thread(allocate, (void *)(i + 1));
    for (int number = 0; number < FORKS; number++) {
        pid_t pid = fork();
        if (pid == 0)
            child(number);
        churn((unsigned)number + 3000, 20);
        await_child(pid);
    }
    stop = true;
    for (int i = 0; i < THREADS; i++)
        join_thread(threads[i]);
    unmake(made_by_main, 'm');
    unmake(made_by_thread, 't');
    return 0;
}
