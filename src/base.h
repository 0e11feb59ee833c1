/* base: the words of the compiler, alignment, bit operations, and the assertion.
 *
 * Owns nothing at run time: this room is macros and small inline functions that every other room may use,
 * so that no other room has to name a compiler or a processor.
 *
 * P1  align_up and align_down never change a value that is already aligned.
 * P2  base_step_full says true exactly when the low byte of the pointer wraps, which is how a 256-byte
 *     aligned array tells that it is full without keeping a count.
 *
 * ASSERT(promise, condition) names the promise by its id in the letter of the room that makes it. It is
 * compiled in every variant and folded away where the box `asserts` is closed; a file that uses it includes
 * boxes.h beside this header. The words it ends with come from the room log.
 *
 * Each room's .c includes this header first, because it asks libc for all its declarations (_GNU_SOURCE).
 *
 * Called by everybody. Never includes another room, never calls libc.
 */
#ifndef HAKMEM_BASE_H
#define HAKMEM_BASE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Write `static ALWAYS_INLINE int f(void)`: the word contains `inline`. */
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))
/* For a function that prefetches what it writes: into this core's cache alone (prefetchw, which all x86-64 take, some as nothing). */
#ifdef __x86_64__
#define FETCHES __attribute__((target("prfchw")))
#else
#define FETCHES
#endif
#define COLD __attribute__((cold, noinline))
#define HIDDEN __attribute__((visibility("hidden")))
#define EXPORT __attribute__((visibility("default")))
#define UNUSED __attribute__((unused))
#define WEAK __attribute__((weak))
#define SECTION(name) __attribute__((section(name)))
/* Large and mostly untouched: kept apart from the small state of all rooms, which then shares two pages. */
#define SPARSE SECTION(".bss.sparse")
/* The first of our own records: used from the front on, so they follow the small state (cmake/first_pages.cmake). */
#define FIRST_RECORDS SECTION(".bss.records")
/* Constants that hardly a process reads, apart from those that each does. */
#define RARE_CONSTANT SECTION(".rodata_rare")
#define ALIGNED(n) __attribute__((aligned(n)))
#define THREAD_LOCAL __thread __attribute__((tls_model("initial-exec")))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define ARRAY_LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* Another name for `function`, with its attributes where the compiler can copy them (gcc warns otherwise). */
#if __has_attribute(copy)
#define ALIAS_OF(function) __attribute__((alias(#function), copy(function)))
#else
#define ALIAS_OF(function) __attribute__((alias(#function)))
#endif

#define CACHE_LINE ((size_t)64)
#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

/* Ends the process with the promise, the expression and the place; defined in log.c. */
_Noreturn void base_assert_failed(const char *promise, const char *expression, const char *file, int line);

#define ASSERT(promise, condition)                                        \
    do {                                                                  \
        if (has(asserts) && UNLIKELY(!(condition)))                       \
            base_assert_failed(#promise, #condition, __FILE__, __LINE__); \
    } while (0)

static ALWAYS_INLINE bool is_power_of_two(size_t n) {
    return n != 0 && (n & (n - 1)) == 0;
}

/* Wraps to 0 when n lies in the last `power_of_two` bytes of the range: callers bound n first. */
static ALWAYS_INLINE size_t align_up(size_t n, size_t power_of_two) {
    return (n + (power_of_two - 1)) & ~(power_of_two - 1);
}

static ALWAYS_INLINE size_t align_down(size_t n, size_t power_of_two) {
    return n & ~(power_of_two - 1);
}

/* Index of the lowest set bit; word is not 0. */
static ALWAYS_INLINE unsigned bits_lowest(uint64_t word) {
    return (unsigned)__builtin_ctzll(word);
}

/* Index of the highest set bit; word is not 0. */
static ALWAYS_INLINE unsigned bits_highest(uint64_t word) {
    return 63u - (unsigned)__builtin_clzll(word);
}

/* Sums of neighbours, in steps of 1, 2 and 4 bits: the baseline of x86-64 has no instruction for it, and the compiler
 * would call a function. */
static ALWAYS_INLINE unsigned bits_count(uint64_t word) {
    word -= word >> 1 & 0x5555555555555555u;
    word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
    word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (unsigned)(word * 0x0101010101010101u >> 56);
}

/* Sets bit `number` % 64 of *word and returns what it was before. */
static ALWAYS_INLINE bool bits_set(uint64_t *word, uint64_t number) {
#if defined(__x86_64__)
    bool before; /* the carry flag of bts, so that no mask is made and no second test */
    __asm__("btsq %2, %0" : "+r"(*word), "=@ccc"(before) : "r"(number) : "cc");
    return before;
#else
    uint64_t bit = 1ULL << number % 64;
    bool before = (*word & bit) != 0;
    *word |= bit;
    return before;
#endif
}

/* The lower half of a product, and the upper one. */
static ALWAYS_INLINE uint64_t bits_product(uint64_t a, uint64_t b, uint64_t *upper) {
#if defined(__x86_64__)
    uint64_t lower; /* gcc keeps a product of 128 bits on the stack */
    __asm__("mulq %3" : "=a"(lower), "=d"(*upper) : "0"(a), "r"(b) : "cc");
    return lower;
#else
    __extension__ unsigned __int128 product = a;
    product *= b;
    *upper = (uint64_t)(product >> 64);
    return (uint64_t)product;
#endif
}

/* A word with a bit for each of 64 bytes, aligned to 16, that is not 0. *more: one of them is neither 0 nor 1. */
static ALWAYS_INLINE uint64_t bits_of_bytes(const unsigned char *bytes, bool *more) {
    uint64_t bits = 0;
#if defined(__SSE2__)
    typedef char vector __attribute__((vector_size(16), may_alias));
    vector all = {0}, ones = (vector){0} == 0;
    for (unsigned at = 0; at < 64; at += 16) {
        vector sixteen = *(const vector *)(const void *)(bytes + at);
        bits |= (uint64_t)(uint16_t)~__builtin_ia32_pmovmskb128(sixteen == 0) << at;
        all |= sixteen;
    }
    *more = __builtin_ia32_pmovmskb128((all & (ones + ones)) == 0) != UINT16_MAX;
#else
    typedef uint64_t word __attribute__((may_alias));
    uint64_t all = 0, low = 0x0101010101010101u;
    for (unsigned at = 0; at < 64; at += 8) {
        uint64_t eight = *(const word *)(const void *)(bytes + at);
        uint64_t any = (((eight & low * 0x7f) + low * 0x7f) | eight) >> 7 & low;
        /* No two of the products' bits fall together: what arrives in the highest byte are the lowest bits of the eight, in order. */
        bits |= (any * 0x0102040810204080u >> 56) << at;
        all |= eight;
    }
    *more = (all & ~low) != 0;
#endif
    return bits;
}

/* Tells the processor that this is a spin loop. */
static ALWAYS_INLINE void base_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Adds 8 to the low byte of *top. False: *top is stepped. True: the byte wrapped, *top is unspecified.
 * On x86-64 the carry flag of a byte addition is the answer, so no compare is needed on the hot path. */
static ALWAYS_INLINE bool base_step_full(unsigned char **top) {
#if defined(__x86_64__)
    bool full;
    __asm__("addb $8, %b0" : "+q"(*top), "=@ccc"(full) : : "cc");
    return full;
#else
    *top += 8;
    return ((uintptr_t)*top & 0xff) == 0;
#endif
}

#endif
