/* base_wide: which blocks of a window some addresses are, four addresses at a time.
 *
 * Owns nothing at run time. The one place that names vector instructions: AVX2, so that a batch of frees costs four instructions
 * an address. A function that calls base_gather is BASE_WIDE, and called only where the processor has them (os_has_avx2).
 *
 * P1  bits has the bit of every address at which a block of the window starts, and inside the bit of its index
 * P2  misfit says that an address in the window is no block's start; bits are worthless then
 *
 * Source of the arithmetic: Lemire, Kaser and Kurz 2019, "Faster remainder by direct computation". With 32 bits of fraction a
 * block's number is exact where it starts, and the fraction below 2^20 exactly there, as long as the window holds at
 * most 64 blocks of at most 4 KiB: a scale that is rounded up adds less than 4 KiB to the fraction for each block.
 *
 * Called by slab. Any thread.
 */
#ifndef HAKMEM_BASE_WIDE_H
#define HAKMEM_BASE_WIDE_H

#include "base.h"

enum { BASE_WIDE_LARGEST = 4096 /* bytes of a block */ };

/* Where blocks lie: up to 64 of them side by side. */
struct base_row {
    uintptr_t start; /* of the first one */
    uint64_t span;   /* bytes of all of them */
    uint64_t scale;  /* ceil(2^32 / bytes of a block) */
};

struct base_gathered {
    uint64_t bits;
    uint32_t inside;
    bool misfit;
};

#if defined(__x86_64__)

#include <immintrin.h>

#define BASE_WIDE __attribute__((target("avx2")))

/* The four words of a vector in one. */
BASE_WIDE static ALWAYS_INLINE uint64_t base_fold(__m256i words) {
    __m128i half = _mm_or_si128(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    return (uint64_t)(_mm_cvtsi128_si64(half) | _mm_cvtsi128_si64(_mm_unpackhi_epi64(half, half)));
}

/* What base_gather works with: signs of offsets are turned, because only signed numbers can be compared. */
struct base_lanes {
    __m256i from, to, scale, bits, products;
    uint32_t inside;
};

/* Four addresses, of which the first has the index `first`. */
BASE_WIDE static ALWAYS_INLINE void base_gather_four(struct base_lanes *lanes, void *const *at,
                                                     unsigned first) {
    __m256i four = _mm256_loadu_si256((const __m256i *)(const void *)(at + first));
    __m256i offset = _mm256_add_epi64(lanes->from, four), in = _mm256_cmpgt_epi64(lanes->to, offset);
    __m256i product = _mm256_and_si256(_mm256_mul_epu32(offset, lanes->scale), in);
    __m256i bit = _mm256_sllv_epi64(_mm256_set1_epi64x(1), _mm256_srli_epi64(product, 32));
    lanes->products = _mm256_or_si256(lanes->products, product);
    lanes->bits = _mm256_or_si256(lanes->bits, _mm256_and_si256(bit, in));
    lanes->inside |= (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(in)) << first;
}

/* Of 4 to 32 addresses. */
BASE_WIDE static ALWAYS_INLINE struct base_gathered base_gather(const struct base_row *row, void *const *at,
                                                                unsigned count) {
    const uint64_t sign = 1ULL << 63;
    struct base_lanes lanes = {
        .from = _mm256_set1_epi64x((long long)(sign - row->start)),
        .to = _mm256_set1_epi64x((long long)(row->span - sign)),
        .scale = _mm256_set1_epi64x((long long)row->scale),
        .bits = _mm256_setzero_si256(),
        .products = _mm256_setzero_si256(),
    };
    unsigned first = 0;
    for (; first + 4 <= count; first += 4)
        base_gather_four(&lanes, at, first);
    if (first < count)
        base_gather_four(&lanes, at, count - 4); /* overlaps with those before, which changes nothing */
    const __m256i fraction = _mm256_set1_epi64x(UINT32_MAX - (1 << 20) + 1);
    return (struct base_gathered){base_fold(lanes.bits), lanes.inside,
                                  !_mm256_testz_si256(lanes.products, fraction)};
}

#else

#define BASE_WIDE

static ALWAYS_INLINE struct base_gathered base_gather(const struct base_row *row, void *const *at,
                                                      unsigned count) {
    (void)row, (void)at, (void)count;
    return (struct base_gathered){.misfit = true};
}

#endif

#endif
