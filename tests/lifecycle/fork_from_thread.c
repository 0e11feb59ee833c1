/*
 * fork_from_thread: may a thread that is not the main one fork, several of them at the same time?
 *
 * Four threads fork 15 times each while the main thread allocates. In the child the forking thread is the
 * only one: it frees blocks of the vanished threads, starts a new thread, lets that one end, and leaves by
 * exit() with all handlers. So the vanished threads' heaps and the survivor's own are both used.
 */
#include "lifecycle.h"

enum { THREADS = 4, FORKS = 15, BLOCKS = 40 };

struct forker {
    unsigned seed;
    void *blocks[BLOCKS];
};

static struct forker forkers[THREADS];
static pthread_barrier_t ready;
static volatile bool stop;

static void *one_churn(void *argument) {
    churn(((struct forker *)argument)->seed, 150);
    return NULL;
}

static void child(struct forker *self) {
    alarm(CHILD_SECONDS);
    for (int t = 0; t < THREADS; t++) {
        for (size_t i = 0; i < BLOCKS; i++) {
            verify(forkers[t].blocks[i], 100 + i * 900, (unsigned char)(t + 1));
            free(forkers[t].blocks[i]);
        }
    }
    join_thread(start_thread(one_churn, self));
    churn(self->seed + 100, 150);
    exit(0);
}

static void *fork_often(void *argument) {
    struct forker *self = argument;

    for (size_t i = 0; i < BLOCKS; i++) {
        self->blocks[i] = malloc(100 + i * 900);
        CHECK(self->blocks[i] != NULL);
        fill(self->blocks[i], 100 + i * 900, (unsigned char)self->seed);
    }
    pthread_barrier_wait(&ready);
    for (int number = 0; number < FORKS; number++) {
        pid_t pid = fork();
        if (pid == 0)
            child(self);
        churn(self->seed + 50, 50);
        await_child(pid);
    }
    return NULL;
}

static void *allocate(void *argument) {
    (void)argument;
    while (!stop)
        churn(77, 200);
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    pthread_t noise = start_thread(allocate, NULL);

    CHECK(pthread_barrier_init(&ready, NULL, THREADS) == 0);
    for (unsigned t = 0; t < THREADS; t++) {
        forkers[t].seed = t + 1;
        threads[t] = start_thread(fork_often, &forkers[t]);
    }
    for (int t = 0; t < THREADS; t++)
        join_thread(threads[t]);
    stop = true;
    join_thread(noise);
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < BLOCKS; i++)
            free(forkers[t].blocks[i]);
    return 0;
}
