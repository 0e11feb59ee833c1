/*
 * fault.h: the workload that the programs of tests/fault run while calls for memory fail.
 *
 * Every call is held to the contract: success and free leave errno alone; failure is NULL with ENOMEM; a failed
 * realloc leaves the block as it was. Contents are verified throughout. Denied requests are counted in `denied`:
 * what each program allows of them is its own question.
 *
 *   try_malloc, try_calloc, try_aligned, try_realloc, give_back    one checked call
 *   workload(seed)     slots of small, medium and large blocks, growth, alignment, give-back; keeps nothing
 *   one_thread(seed)   the same in a new thread
 *   threads(seed)      the same in two new threads at once
 */
#ifndef HAKMEM_TESTS_FAULT_H
#define HAKMEM_TESTS_FAULT_H

#include "../lifecycle/lifecycle.h"
#include "injector.h"

enum { SENTINEL = EXDEV };

static unsigned long denied;

static inline void *answered(void *block) {
    CHECK(errno == (block != NULL ? SENTINEL : ENOMEM));
    if (block == NULL)
        __atomic_add_fetch(&denied, 1, __ATOMIC_RELAXED);
    errno = SENTINEL;
    return block;
}

static inline void *try_malloc(size_t size) {
    errno = SENTINEL;
    return answered(malloc(size));
}

static inline void *try_calloc(size_t size) {
    errno = SENTINEL;
    void *block = answered(calloc(1, size));
    if (block != NULL)
        verify(block, size, 0);
    return block;
}

static inline void *try_aligned(size_t alignment, size_t size) {
    errno = SENTINEL;
    void *block = answered(aligned_alloc(alignment, size));
    CHECK((uintptr_t)block % alignment == 0);
    return block;
}

static inline void give_back(void *block) {
    errno = SENTINEL;
    free(block);
    CHECK(errno == SENTINEL);
}

/* Grows or shrinks a block filled with the mark; true when the block now has the new size, filled. */
static inline bool try_realloc(void **block, size_t old, size_t size, unsigned char mark) {
    errno = SENTINEL;
    void *moved = answered(realloc(*block, size));
    verify(moved != NULL ? moved : *block, moved == NULL || old < size ? old : size, mark);
    if (moved == NULL)
        return false;
    fill(moved, size, mark);
    *block = moved;
    return true;
}

static inline void step(struct slot *slot, unsigned *state) {
    size_t size = mixed_size(state) * (next_random(state) % 64 == 0 ? 4 : 1);
    unsigned way = next_random(state) % 8;

    if (slot->block != NULL && way < 3) {
        if (try_realloc(&slot->block, slot->size, size, slot->mark))
            slot->size = size;
        return;
    }
    if (slot->block != NULL)
        verify(slot->block, slot->size, slot->mark);
    give_back(slot->block);
    slot->block = way == 3 ? try_calloc(size) : way == 4 ? try_aligned(4096, size) : try_malloc(size);
    slot->size = slot->block != NULL ? size : 0;
    slot->mark = (unsigned char)next_random(state);
    if (slot->block != NULL)
        fill(slot->block, slot->size, slot->mark);
}

/* One large block through every size on its way up and down again. */
static inline void grow_and_shrink(void) {
    void *block = try_malloc(300000);
    size_t size = 300000;

    if (block == NULL)
        return;
    fill(block, size, 'g');
    for (size_t next = 900000; next < 6u << 20; next = next * 2 + 4096)
        if (try_realloc(&block, size, next, 'g'))
            size = next;
    for (size_t next = size / 2; next > 100; next /= 4)
        if (try_realloc(&block, size, next, 'g'))
            size = next;
    give_back(block);
}

static inline void workload(unsigned seed) {
    struct slot slots[SLOTS] = {{NULL, 0, 0}};
    unsigned state = seed * 2654435761u | 1;

    for (int i = 0; i < 600; i++)
        step(&slots[next_random(&state) % SLOTS], &state);
    grow_and_shrink();
    give_back(try_aligned(4u << 20, 5u << 20));
    for (int i = 0; i < SLOTS; i++) {
        if (slots[i].block != NULL)
            verify(slots[i].block, slots[i].size, slots[i].mark);
        give_back(slots[i].block);
    }
    malloc_trim(0);
}

static inline void *workload_in_thread(void *argument) {
    workload((unsigned)(uintptr_t)argument);
    return NULL;
}

/* libc allocates for a new thread, and says EAGAIN or ENOMEM when that is denied. */
static inline bool try_thread(pthread_t *thread, void *(*body)(void *), unsigned seed) {
    int error = pthread_create(thread, NULL, body, (void *)(uintptr_t)seed);

    CHECK(error == 0 || error == EAGAIN || error == ENOMEM);
    if (error != 0)
        __atomic_add_fetch(&denied, 1, __ATOMIC_RELAXED);
    return error == 0;
}

static inline void one_thread(unsigned seed) {
    pthread_t thread;

    if (try_thread(&thread, workload_in_thread, seed))
        join_thread(thread);
}

static inline void threads(unsigned seed) {
    pthread_t first, second;

    if (!try_thread(&first, workload_in_thread, seed + 1))
        return;
    if (try_thread(&second, workload_in_thread, seed + 2))
        join_thread(second);
    join_thread(first);
}

/* Failures are over: everything must work again, and the process be no larger than the workload asks for. */
static inline void check_recovered(void) {
    fault_disarm();
    denied = 0;
    workload(97);
    threads(98);
    CHECK(denied == 0);
    malloc_trim(0);
    CHECK(status_kib("VmRSS:") < 48 << 10);
}

#endif
