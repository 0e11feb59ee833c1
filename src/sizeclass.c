#include "sizeclass.h"

/* The exponent of the doubling that `bytes` (> 128) falls into: 7 for 129..256. */
#define EXPONENT(bytes) (63 - __builtin_clzll((unsigned long long)(bytes)-1))
#define CLASS_ABOVE(bytes) (8 + (EXPONENT(bytes) - 7) * 8 + (int)((((bytes)-1) >> (EXPONENT(bytes) - 3)) - 8))
#define CLASS_OF(granules)                    \
    (uint8_t)((granules) == 0  ? 0            \
              : (granules) < 9 ? (granules)-1 \
                               : CLASS_ABOVE((granules) < 9 ? 144ULL : (granules)*16ULL))

#define GRANULES_4(g) CLASS_OF((g)), CLASS_OF((g) + 1), CLASS_OF((g) + 2), CLASS_OF((g) + 3)
#define GRANULES_16(g) GRANULES_4(g), GRANULES_4((g) + 4), GRANULES_4((g) + 8), GRANULES_4((g) + 12)
#define GRANULES_64(g) GRANULES_16(g), GRANULES_16((g) + 16), GRANULES_16((g) + 32), GRANULES_16((g) + 48)
#define GRANULES_256(g) GRANULES_64(g), GRANULES_64((g) + 64), GRANULES_64((g) + 128), GRANULES_64((g) + 192)
#define GRANULES_1024(g) \
    GRANULES_256(g), GRANULES_256((g) + 256), GRANULES_256((g) + 512), GRANULES_256((g) + 768)

const uint8_t sizeclass_by_size[SIZECLASS_BY_SIZE] = {GRANULES_1024(0), GRANULES_1024(1024), CLASS_OF(2048)};

#define BLOCK_SIZE(c) ((c) < 8 ? ((c) + 1) * 16 : (9 + ((c)&7)) << (((c) >> 3) + 3))
#define UNITS(c) (BLOCK_SIZE(c) <= 4096 ? 1 : 4)
#define FITTING(c) (UNITS(c) * UNIT_SIZE / BLOCK_SIZE(c))
#define BLOCKS(c) (FITTING(c) < SIZECLASS_BLOCKS_MOST ? FITTING(c) : SIZECLASS_BLOCKS_MOST)
#define WORDS(c) ((BLOCKS(c) + 63) / 64)
#define SHARE(c) (4 * UNIT_SIZE / BLOCK_SIZE(c)) /* blocks in 256 KiB */
#define MAGAZINE(c) (uint8_t)(SHARE(c) > SIZECLASS_MAGAZINE ? SIZECLASS_MAGAZINE : SHARE(c))
#define POSTED(c) \
    ((uint64_t)(BLOCK_SIZE(c) > SIZECLASS_POSTED_LEAST ? BLOCK_SIZE(c) : SIZECLASS_POSTED_LEAST) << 32 | 1)
#define ROW(c)                                                                                 \
    {                                                                                          \
        .inverse = UINT64_MAX / BLOCK_SIZE(c) + 1, .size = BLOCK_SIZE(c), .blocks = BLOCKS(c), \
        .units = UNITS(c), .words = WORDS(c), .magazine = MAGAZINE(c), .posted = POSTED(c)     \
    }
#define ROWS_8(c) \
    ROW((c)), ROW((c) + 1), ROW((c) + 2), ROW((c) + 3), ROW((c) + 4), ROW((c) + 5), ROW((c) + 6), ROW((c) + 7)

const struct sizeclass sizeclass_table[SIZECLASS_COUNT] = {
    ROWS_8(0), ROWS_8(8), ROWS_8(16), ROWS_8(24), ROWS_8(32), ROWS_8(40), ROWS_8(48), ROWS_8(56), ROWS_8(64)};

_Static_assert(BLOCK_SIZE(71) == SIZECLASS_LARGEST, "the last class is the largest");
_Static_assert(CLASS_OF(2048) == SIZECLASS_COUNT - 1, "the largest request has the last class");
_Static_assert(WORDS(0) < 64, "one word sums up the words of a slab, and has a bit more");
