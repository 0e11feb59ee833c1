/*
 * What the test programs share: seeded random numbers, block contents that can be checked, and last words.
 *
 * A block's content is a function of its id and of the offset, so that bytes which another block's owner wrote,
 * which were not copied by a realloc or which came from another offset are all seen. Blocks up to 64 KiB are filled
 * whole; of larger ones the first and last 4 KiB and a word in every KiB between, so that a test's time goes into the
 * allocator and not into memory bandwidth.
 *
 * Random numbers are splitmix64: any seed is good, also 0. test_seed() reads TEST_SEED, so that a failing run can be
 * repeated; test_fail() prints the seed with the reason and ends the process with status 1. Nothing here allocates or
 * uses stdio streams: the tested allocator may be broken when the words are needed.
 */
#ifndef HAKMEM_TEST_PATTERN_H
#define HAKMEM_TEST_PATTERN_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATTERN_WHOLE ((size_t)64 * 1024)
#define PATTERN_EDGE ((size_t)4096)
#define PATTERN_STRIDE ((size_t)1024)

struct test_random {
    uint64_t state;
};

static inline uint64_t test_mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint64_t test_random(struct test_random *random) {
    random->state += 0x9e3779b97f4a7c15u;
    return test_mix(random->state);
}

/* A number in 0..below-1; the bias of the modulo does not matter for test programs. */
static inline size_t test_below(struct test_random *random, size_t below) {
    return (size_t)(test_random(random) % below);
}

/* A size whose logarithm is uniform between 1 and `most`: small ones are as frequent as in real programs. */
static inline size_t test_size(struct test_random *random, unsigned most_bits) {
    unsigned bits = 1 + (unsigned)test_below(random, most_bits);
    return test_below(random, (size_t)1 << bits);
}

static uint64_t test_seed_used;

static inline uint64_t test_seed(uint64_t otherwise) {
    const char *text = getenv("TEST_SEED");
    test_seed_used = text != NULL && text[0] != '\0' ? strtoull(text, NULL, 0) : otherwise;
    return test_seed_used;
}

__attribute__((noreturn, format(printf, 1, 2), unused)) static void test_fail(const char *format, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof line)
        length = (int)sizeof line - 1;
    char seed[64];
    int seed_length =
        snprintf(seed, sizeof seed, "\nrepeat with TEST_SEED=%llu\n", (unsigned long long)test_seed_used);
    ssize_t written = write(2, line, (size_t)length);
    written += write(2, seed, (size_t)seed_length);
    _exit(written < 0 ? 2 : 1);
}

static inline uint64_t pattern_word(uint64_t id, size_t offset) {
    return (id + 1) * 0x9e3779b97f4a7c15u + (uint64_t)offset * 0xd6e8feb86659fd93u;
}

static inline size_t pattern_next(size_t offset, size_t bytes) {
    if (bytes <= PATTERN_WHOLE || offset < PATTERN_EDGE || offset + PATTERN_EDGE >= bytes)
        return offset + sizeof(uint64_t);
    return offset + PATTERN_STRIDE;
}

static inline void pattern_fill(void *block, size_t bytes, uint64_t id) {
    for (size_t offset = 0; offset < bytes; offset = pattern_next(offset, bytes)) {
        uint64_t word = pattern_word(id, offset);
        size_t part = bytes - offset < sizeof word ? bytes - offset : sizeof word;
        memcpy((unsigned char *)block + offset, &word, part);
    }
}

/* Compares the first `limit` bytes of a block that was filled with `bytes`; SIZE_MAX when all of them are right,
 * else the offset of a word that is not. */
static inline size_t pattern_wrong(const void *block, size_t bytes, size_t limit, uint64_t id) {
    for (size_t offset = 0; offset < limit; offset = pattern_next(offset, bytes)) {
        uint64_t word = pattern_word(id, offset);
        size_t part = limit - offset < sizeof word ? limit - offset : sizeof word;
        if (memcmp((const unsigned char *)block + offset, &word, part) != 0)
            return offset;
    }
    return SIZE_MAX;
}

#endif
