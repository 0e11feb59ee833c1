/*
 * exit_while_allocating: may the main thread call exit() while other threads are inside malloc and free?
 *
 * 60 children, each with three threads that allocate without end; the main thread calls exit at once or a
 * little later. Every child must end with status 0: no crash, no dead lock, whatever the library does at
 * exit. A last child leaves by pthread_exit of the main thread, whose blocks the other threads then free.
 */
#include "lifecycle.h"

enum { CHILDREN = 60, THREADS = 3 };

static void *allocate_for_ever(void *argument) {
    for (unsigned seed = (unsigned)(uintptr_t)argument;; seed++)
        churn(seed, 200);
    return NULL;
}

static void exit_in_the_middle(int number) {
    alarm(CHILD_SECONDS);
    for (int i = 0; i < THREADS; i++)
        start_thread(allocate_for_ever, (void *)(uintptr_t)(number * THREADS + i + 1));
    churn(9, number * 20);
    exit(0);
}

static pthread_t main_thread;
static void *blocks_of_main[100];

static void *outlive_main(void *argument) {
    (void)argument;
    CHECK(pthread_join(main_thread, NULL) == 0);
    for (int i = 0; i < 100; i++) {
        verify(blocks_of_main[i], 300, (unsigned char)i);
        free(blocks_of_main[i]);
    }
    churn(10, 1000);
    exit(0);
}

static void leave_main_thread(void) {
    alarm(CHILD_SECONDS);
    main_thread = pthread_self();
    for (int i = 0; i < 100; i++) {
        blocks_of_main[i] = malloc(300);
        CHECK(blocks_of_main[i] != NULL);
        fill(blocks_of_main[i], 300, (unsigned char)i);
    }
    start_thread(outlive_main, NULL);
    pthread_exit(NULL);
}

int main(void) {
    for (int number = 0; number < CHILDREN; number++) {
        pid_t pid = fork();
        if (pid == 0)
            exit_in_the_middle(number);
        await_child(pid);
    }
    pid_t pid = fork();
    if (pid == 0)
        leave_main_thread();
    await_child(pid);
    return 0;
}
