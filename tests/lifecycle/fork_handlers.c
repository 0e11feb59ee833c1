/*
 * fork_handlers: may pthread_atfork handlers allocate, whatever the order in which they were registered?
 *
 * Handlers of this program run before and after those of the library under test (some are registered in a
 * constructor, before the first malloc; some later), so at least one of them allocates while the library
 * holds its locks for the fork. They allocate and free in prepare, parent and child, with a second thread
 * allocating all the time, 60 forks long.
 */
#include "lifecycle.h"

enum { FORKS = 60 };

static volatile bool stop;
static int prepared, in_parent, in_child;
static void *across;

static void prepare(void) {
    prepared++;
    free(across);
    across = malloc(3000);
    CHECK(across != NULL);
    fill(across, 3000, 'a');
    churn(11, 40);
}

static void parent(void) {
    in_parent++;
    verify(across, 3000, 'a');
    across = realloc(across, 90000);
    CHECK(across != NULL);
    churn(12, 40);
}

static void child(void) {
    in_child++;
    if (across != NULL)
        verify(across, 3000, 'a');
    free(across);
    across = NULL;
    churn(13, 40);
}

__attribute__((constructor)) static void register_early(void) {
    CHECK(pthread_atfork(prepare, parent, child) == 0);
}

static void *allocate(void *argument) {
    (void)argument;
    while (!stop)
        churn(14, 200);
    return NULL;
}

int main(void) {
    churn(15, 100);
    CHECK(pthread_atfork(prepare, parent, child) == 0);
    pthread_t thread = start_thread(allocate, NULL);
    for (int number = 0; number < FORKS; number++) {
        alarm(CHILD_SECONDS);
        pid_t pid = fork();
        if (pid == 0) {
            alarm(CHILD_SECONDS);
            CHECK(in_child == 2);
            churn(16, 100);
            _exit(0);
        }
        await_child(pid);
    }
    alarm(0);
    stop = true;
    join_thread(thread);
    CHECK(prepared == 2 * FORKS && in_parent == 2 * FORKS && in_child == 0);
    free(across);
    return 0;
}
