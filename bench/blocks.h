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

// The compiler must not know how the size came about: it would keep size - 1 across the call as well.
BLOCK_ALWAYS_INLINE size_t random_between(uint32_t bits, size_t smallest, size_t largest) {
    size_t size = smallest + random_below(bits, largest - smallest + 1);
    __asm__("" : "+r"(size));
    return size;
}

BLOCK_ALWAYS_INLINE void block_touch(unsigned char *block, size_t size) {
    if (__builtin_expect(!block, 0)) {
        fputs("bench: the allocator returned NULL\n", stderr);
        exit(1);
    }
    block[0] = (unsigned char)size;
    block[size - 1] = (unsigned char)(size >> 8);
}

// A block of the empty run. The compiler must not know it: then it checks and touches it as it does a real one.
BLOCK_ALWAYS_INLINE unsigned char *block_pretended(void) {
    unsigned char *block = empty_block;
    __asm__("" : "+r"(block));
    return block;
}

BLOCK_ALWAYS_INLINE void *block_new(bool empty, size_t size) {
    unsigned char *block = empty ? block_pretended() : malloc(size);
    block_touch(block, size);
    return block;
}

BLOCK_ALWAYS_INLINE void block_free(bool empty, void *block) {
    if (!empty)
        free(block);
}

BLOCK_ALWAYS_INLINE void *block_grow(bool empty, void *block, size_t size) {
    unsigned char *grown = empty ? block_pretended() : realloc(block, size);
    block_touch(grown, size);
    return grown;
}

// Frees and clears a full slot; false when there was nothing in it.
BLOCK_ALWAYS_INLINE bool slot_release(void **slot, bool empty) {
    if (!*slot)
        return false;
    block_free(empty, *slot);
    *slot = NULL;
    return true;
}

// Frees and clears all slots.
static inline void slots_release(void **slots, size_t count) {
    for (size_t i = 0; i < count; i++)
        slot_release(&slots[i], false);
}

#endif
