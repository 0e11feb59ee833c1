/*
 * fork_mutex: may handlers of pthread_atfork hold a mutex of the program's across a fork, as its manual page has it, though they were registered before the
 * first malloc?
 *
 * Another thread allocates and frees while it holds that mutex. fork calls handlers in the reverse order of their registration: those of the
 * library have to come last, or the program's waits for a thread that waits for the library.
 */
#include "lifecycle.h"

enum { FORKS = 300, BLOCKS = 200 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile bool stop;

static void take(void) {
    CHECK(pthread_mutex_lock(&mutex) == 0);
}

static void give(void) {
    CHECK(pthread_mutex_unlock(&mutex) == 0);
}

static void *allocate(void *argument) {
    for (unsigned round = 0; !stop; round++) {
        take();
        for (unsigned i = 0; i < BLOCKS; i++) {
            size_t size = i % 16 == 0 ? 40000 + (round + i) * 7919 % 2000000 : 16 + (round * 31 + i) % 3000;
            unsigned char *block = malloc(size);
            CHECK(block != NULL);
            block[0] = block[size - 1] = 1;
            free(block);
        }
        churn(round, 100);
        give();
    }
    return argument;
}

int main(void) {
    CHECK(pthread_atfork(take, give, give) == 0); /* before anything is allocated */
    pthread_t thread = start_thread(allocate, NULL);
    for (int number = 0; number < FORKS; number++) {
        alarm(CHILD_SECONDS);
        pid_t pid = fork();
        if (pid == 0) {
            churn(1, 20);
            _exit(0);
        }
        await_child(pid);
    }
    alarm(0);
    stop = true;
    join_thread(thread);
    return 0;
}
