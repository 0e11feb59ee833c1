/*
 * What the stress programs share: blocks that know what they are, and threads.
 *
 * A stress block begins with its size, a number and a seal over both; the rest is a pattern made from the number. So a
 * block can travel through tables, rings and threads as a bare pointer, and whoever frees it checks all of it: a block
 * that was handed out twice, overlaps another, was freed too early or not copied whole does not get past
 * stress_free(). The first thing found ends the process with status 1 and the seed.
 *
 * Every program takes the amount of work as its only argument (default 100 per cent), does a fixed number of
 * operations, and is seeded by TEST_SEED: no clock decides anything. How threads interleave differs from run to run,
 * and a sound allocator passes whatever they do.
 */
#ifndef HAKMEM_STRESS_H
#define HAKMEM_STRESS_H

#include "../model/pattern.h"
#include "../model/tested_allocator.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define STRESS_HEADER ((size_t)16)
#define STRESS_THREADS_MOST 64

struct stress_header {
    uint32_t size;
    uint32_t number;
    uint64_t seal;
};

struct stress_thread {
    unsigned number;
    size_t operations;
    struct test_random random;
};

static inline struct stress_header stress_header(size_t size, uint32_t number) {
    struct stress_header header = {.size = (uint32_t)size, .number = number};
    header.seal = test_mix(((uint64_t)header.size << 32 | number) + 1);
    return header;
}

static inline void stress_write(void *block, size_t size, uint32_t number) {
    struct stress_header header = stress_header(size, number);
    memcpy(block, &header, sizeof header);
    pattern_fill((unsigned char *)block + STRESS_HEADER, size - STRESS_HEADER, number);
}

/* The size of a block whose content is right up to `limit` bytes. */
static inline size_t stress_check(const void *block, size_t limit, const char *when) {
    struct stress_header header;
    memcpy(&header, block, sizeof header);
    if (header.seal != stress_header(header.size, header.number).seal)
        test_fail("%s: %p is not a stress block (size %u, number %u)", when, block, header.size,
                  header.number);
    size_t bytes = header.size - STRESS_HEADER;
    size_t checked = limit < header.size ? limit - STRESS_HEADER : bytes;
    size_t wrong = pattern_wrong((const unsigned char *)block + STRESS_HEADER, bytes, checked, header.number);
    if (wrong != SIZE_MAX)
        test_fail("%s: block %p of %u bytes has lost its content at offset %zu", when, block, header.size,
                  wrong + STRESS_HEADER);
    return header.size;
}

/* A block of at least STRESS_HEADER bytes; ends the process when there is no memory. */
static inline void *stress_new(struct test_random *random, size_t size) {
    if (size < STRESS_HEADER)
        size = STRESS_HEADER;
    void *block = tested_malloc(size);
    if (block == NULL)
        test_fail("malloc of %zu bytes failed", size);
    stress_write(block, size, (uint32_t)test_random(random));
    return block;
}

static inline void stress_free(void *block) {
    if (block == NULL)
        return;
    stress_check(block, SIZE_MAX, "before free");
    memset(block, 0xdd, STRESS_HEADER);
    tested_free(block);
}

static inline void *stress_resize(struct test_random *random, void *block, size_t size) {
    if (size < STRESS_HEADER)
        size = STRESS_HEADER;
    stress_check(block, SIZE_MAX, "before realloc");
    void *moved = tested_realloc(block, size);
    if (moved == NULL)
        test_fail("realloc to %zu bytes failed", size);
    stress_check(moved, size, "after realloc");
    stress_write(moved, size, (uint32_t)test_random(random));
    return moved;
}

/* The first call of every program: sets the seed, and gives the share of the operations that the argument asks for. */
static inline size_t stress_start(int argc, char **argv, size_t operations) {
    test_seed(1);
    if (!tested_is_in_place())
        test_fail("malloc is not that of TESTED_LIB");
    size_t percent = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
    size_t amount = operations * percent / 100;
    return amount > 0 ? amount : 1;
}

/* Runs `count` threads to their end; thread i gets number first + i and random numbers of its own. */
static inline void stress_threads(unsigned first, unsigned count, size_t operations, void *(*run)(void *)) {
    pthread_t ids[STRESS_THREADS_MOST];
    struct stress_thread threads[STRESS_THREADS_MOST];
    for (unsigned i = 0; i < count; i++) {
        threads[i] = (struct stress_thread){.number = first + i, .operations = operations};
        threads[i].random.state = test_mix(test_seed_used + 1) + first + i;
        if (pthread_create(&ids[i], NULL, run, &threads[i]) != 0)
            test_fail("cannot create thread %u", i);
    }
    for (unsigned i = 0; i < count; i++)
        pthread_join(ids[i], NULL);
}

#endif
