/*
 * owner_asleep: what becomes of blocks that others free while their owner sleeps?
 *
 * Six owners fill 8 MiB each and fall asleep; the main thread and a helper free all of it. Nobody may wait
 * for a sleeper. Then every owner wakes in turn and fills the same again, with other sizes, and sleeps
 * again; eight rounds. What was freed must come back: the process stays near the 48 MiB alive at most,
 * where memory lost to remote frees would reach 384.
 */
#include "lifecycle.h"

enum { OWNERS = 6, ROUNDS = 8, BYTES = 8 << 20, MOST = BYTES / 100, BOUND_KIB = 130 << 10 };

struct owner {
    void *blocks[MOST];
    int count;
    pthread_barrier_t wake, filled;
};

static struct owner owners[OWNERS];

static void *body(void *argument) {
    struct owner *self = argument;

    for (size_t round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&self->wake);
        self->count = 0;
        for (size_t total = 0, i = 0; total < BYTES; i++) {
            size_t size = 100 + (i * 37 + round * 101) % 1900;
            void *block = malloc(size);
            CHECK(block != NULL);
            fill(block, size, (unsigned char)i);
            self->blocks[self->count++] = block;
            total += size;
        }
        pthread_barrier_wait(&self->filled);
    }
    pthread_barrier_wait(&self->wake);
    return NULL;
}

static void *free_odd(void *argument) {
    struct owner *owner = argument;

    for (int i = 1; i < owner->count; i += 2)
        free(owner->blocks[i]);
    return NULL;
}

static void free_all_of(struct owner *owner) {
    pthread_t helper = start_thread(free_odd, owner);

    for (int i = 0; i < owner->count; i += 2)
        free(owner->blocks[i]);
    join_thread(helper);
}

int main(void) {
    pthread_t threads[OWNERS];

    for (int t = 0; t < OWNERS; t++) {
        CHECK(pthread_barrier_init(&owners[t].wake, NULL, 2) == 0);
        CHECK(pthread_barrier_init(&owners[t].filled, NULL, 2) == 0);
        threads[t] = start_thread(body, &owners[t]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int t = 0; t < OWNERS; t++) {
            pthread_barrier_wait(&owners[t].wake);
            pthread_barrier_wait(&owners[t].filled);
        }
        for (int t = 0; t < OWNERS; t++)
            free_all_of(&owners[t]);
    }
    long resident = status_kib("VmHWM:");
    for (int t = 0; t < OWNERS; t++) {
        pthread_barrier_wait(&owners[t].wake);
        join_thread(threads[t]);
    }
    CHECK(resident < BOUND_KIB);
    return 0;
}
