// The steps that workloads are made of: random numbers, one allocation, one free, one touch.
//
// Each takes `empty` as a constant, so that a loop with the allocator and the loop without it come from the same
// source: the empty one takes every block from one static buffer and forgets it on free, and does everything
// else alike (draws the same numbers, touches the same two bytes, fills and clears the same slots).
#ifndef HAKMEM_BENCH_BLOCKS_H
#define HAKMEM_BENCH_BLOCKS_H

#include "driver.h"

#include <stdio.h>
#include <stdlib.h>

#define BLOCK_ALWAYS_INLINE static inline __attribute__((always_inline))

extern unsigned char empty_block[];

// xorshift64 (Marsaglia); the state is never 0.
BLOCK_ALWAYS_INLINE uint64_t random_next(uint64_t *state) {
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *state = x;
    return x;
}

// 0 .. bound - 1 from 32 random bits, without a division.
BLOCK_ALWAYS_INLINE size_t random_below(uint32_t bits, size_t bound) {
    return (size_t)(((uint64_t)bits * bound) >> 32);
}

BLOCK_ALWAYS_INLINE size_t random_between(uint32_t bits, size_t smallest, size_t largest) {
    return smallest + random_below(bits, largest - smallest + 1);
}

BLOCK_ALWAYS_INLINE void block_touch(unsigned char *block, size_t size) {
    if (__builtin_expect(!block, 0)) {
        fputs("bench: the allocator returned NULL\n", stderr);
        exit(1);
    }
    block[0] = (unsigned char)size;
    block[size - 1] = (unsigned char)(size >> 8);
}

BLOCK_ALWAYS_INLINE void *block_new(bool empty, size_t size) {
    unsigned char *block = empty ? empty_block : malloc(size);
    block_touch(block, size);
    return block;
}

BLOCK_ALWAYS_INLINE void block_free(bool empty, void *block) {
    if (!empty)
        free(block);
}

BLOCK_ALWAYS_INLINE void *block_grow(bool empty, void *block, size_t size) {
    unsigned char *grown = empty ? empty_block : realloc(block, size);
    block_touch(grown, size);
    return grown;
}

// The step of the mixed workload on a slot of the worker.
BLOCK_ALWAYS_INLINE void mixed_step(void **slot, size_t size, bool empty) {
    if (*slot) {
        block_free(empty, *slot);
        *slot = NULL;
    } else {
        *slot = block_new(empty, size);
    }
}

#endif
