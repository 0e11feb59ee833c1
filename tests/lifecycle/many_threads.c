/*
 * many_threads: do many more threads than cores, which pass blocks around, keep the heap sound?
 *
 * 96 threads take a block from a shared table, verify and free (or realloc) what another thread put there,
 * and put a new block of theirs. Any thread may be off the processor at any instruction. At the end every
 * block's content must be as written, and all is freed by the main thread.
 */
#include "lifecycle.h"

enum { THREADS = 96, STEPS = 1500, PLACES = 512 };

struct parcel {
    size_t size;
    unsigned char mark;
    unsigned char bytes[];
};

static struct parcel *table[PLACES];

static void check_parcel(const struct parcel *parcel) {
    verify(parcel->bytes, parcel->size, parcel->mark);
}

static struct parcel *new_parcel(struct parcel *old, unsigned *state) {
    size_t size = mixed_size(state) % 40000;
    struct parcel *parcel = next_random(state) % 4 == 0 ? realloc(old, sizeof *parcel + size) : NULL;

    if (parcel == NULL) {
        free(old);
        parcel = malloc(sizeof *parcel + size);
    }
    CHECK(parcel != NULL);
    parcel->size = size;
    parcel->mark = (unsigned char)next_random(state);
    fill(parcel->bytes, size, parcel->mark);
    return parcel;
}

static void *body(void *argument) {
    unsigned state = (unsigned)(uintptr_t)argument * 40503u + 1;

    for (int step = 0; step < STEPS; step++) {
        struct parcel **place = &table[next_random(&state) % PLACES];
        struct parcel *taken = __atomic_exchange_n(place, NULL, __ATOMIC_ACQ_REL);
        if (taken != NULL)
            check_parcel(taken);
        struct parcel *left = __atomic_exchange_n(place, new_parcel(taken, &state), __ATOMIC_ACQ_REL);
        if (left != NULL)
            check_parcel(left);
        free(left);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];

    for (uintptr_t i = 0; i < THREADS; i++)
        threads[i] = start_thread(body, (void *)(i + 1));
    for (int i = 0; i < THREADS; i++)
        join_thread(threads[i]);
    for (int i = 0; i < PLACES; i++) {
        if (table[i] != NULL)
            check_parcel(table[i]);
        free(table[i]);
    }
    return 0;
}
