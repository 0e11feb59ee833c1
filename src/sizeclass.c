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

#define SIZE_OF(c) ((c) < 8 ? ((c) + 1) * 16 : (9 + ((c)&7)) << (((c) >> 3) + 3))
#define IS_PLAIN(c) ((c) >= SIZECLASS_USUAL)
#define BLOCK_SIZE(c) (IS_PLAIN(c) ? SIZECLASS_PLAIN_FIRST << ((c)&7) : SIZE_OF(c))
#define UNITS(c) (BLOCK_SIZE(c) <= 4096 ? 1 : 4)
#define FITTING(c) (UNITS(c) * UNIT_SIZE / BLOCK_SIZE(c))
#define BLOCKS(c) (FITTING(c) < SIZECLASS_BLOCKS_MOST ? FITTING(c) : SIZECLASS_BLOCKS_MOST)
#define WORDS(c) ((BLOCKS(c) + 63) / 64)
#define SHARE(c) (4 * UNIT_SIZE / BLOCK_SIZE(c)) /* blocks in 256 KiB */
#define MAGAZINE(c) (uint8_t)(SHARE(c) > SIZECLASS_MAGAZINE ? SIZECLASS_MAGAZINE : SHARE(c))
#define POSTED(c) \
    ((uint64_t)(BLOCK_SIZE(c) > SIZECLASS_POSTED_LEAST ? BLOCK_SIZE(c) : SIZECLASS_POSTED_LEAST) << 32 | 1)

/* Which classes have colours: of more than 128 bytes, below 8 KiB, as a slab has few of more; but not of a page: those go home one by one.
 * Fine ones are a line apart; others keep the alignment that their blocks have without colours, up to 256 bytes. Fine are those that would
 * need it most: of powers of two, and multiples of 512. */
enum { COLOURED_FROM = CLASS_ABOVE(144), OF_PAGES = CLASS_ABOVE(4096), COLOURED_TO = CLASS_ABOVE(8192) };
#define TOP(c) ((c) | 7) /* the class of the next power of two */
#define HAS_COLOURS(c) ((c) >= COLOURED_FROM && (c) < COLOURED_TO && (c) != OF_PAGES)
#define IS_FINE(c) (HAS_COLOURS(c) && ((c) == TOP(c) || SIZE_OF(c) % 512 == 0))
#define POWER(c) (SIZE_OF(c) & -SIZE_OF(c))
#define GRAIN(c) (IS_FINE(c) || POWER(c) <= 64 ? 6 : POWER(c) == 128 ? 7 : 8)
/* Up to the size of a block, of which one fewer then fits into most slabs; of more than 2 KiB about as many as cost none. */
#define SLACK(c) ((UNITS(c) * UNIT_SIZE) % SIZE_OF(c) + (1 << GRAIN(c)))
#define SPREAD(c) \
    (SIZE_OF(c) <= 2048 || SLACK(c) > SIZE_OF(c) ? SIZE_OF(c) : SLACK(c) > 1024 ? SLACK(c) : 1024)
#define COLOURS(c) (uint8_t)(HAS_COLOURS(c) ? SPREAD(c) >> GRAIN(c) : 1)
/* The first class from c on all of whose blocks start at a multiple of a, as those of c do but for their colours: the plain one of a power of
 * two. Between two of those it is the next class or the one after, which are not fine, or else that of the next power of two. */
#define STEP(c) (1 << (((c) >> 3) + 3))
#define PLAIN(c) (IS_FINE(c) ? SIZECLASS_USUAL + ((c)-CLASS_ABOVE(256)) / 8 : (c))
#define ALIGNED_TO(c, a)                                           \
    (uint8_t)(!IS_FINE(c) || (c) == TOP(c)              ? PLAIN(c) \
              : (a) <= STEP(c) && STEP(c) < 512         ? (c) + 1  \
              : (a) <= 2 * STEP(c) && 2 * STEP(c) < 512 ? (c) + 2  \
                                                        : PLAIN(TOP(c)))
#define ALIGNED_CLASSES(c)                                                                             \
    {                                                                                                  \
        (uint8_t)(c), ALIGNED_TO(c, 128), ALIGNED_TO(c, 256), ALIGNED_TO(c, 512), ALIGNED_TO(c, 1024), \
            ALIGNED_TO(c, 2048), ALIGNED_TO(c, 4096)                                                   \
    }
#define ROW(c)                                                                                 \
    {                                                                                          \
        .inverse = UINT64_MAX / BLOCK_SIZE(c) + 1, .size = BLOCK_SIZE(c), .blocks = BLOCKS(c), \
        .units = UNITS(c), .words = WORDS(c), .magazine = MAGAZINE(c), .posted = POSTED(c),    \
        .colours = COLOURS(c), .grain = GRAIN(c), .aligned = ALIGNED_CLASSES(c)                \
    }
#define ROWS_8(c) \
    ROW((c)), ROW((c) + 1), ROW((c) + 2), ROW((c) + 3), ROW((c) + 4), ROW((c) + 5), ROW((c) + 6), ROW((c) + 7)

const struct sizeclass sizeclass_table[SIZECLASS_COUNT] = {
    ROWS_8(0),  ROWS_8(8),  ROWS_8(16), ROWS_8(24), ROWS_8(32), ROWS_8(40), ROWS_8(48),
    ROWS_8(56), ROWS_8(64), ROW(72),    ROW(73),    ROW(74),    ROW(75)};

_Static_assert(BLOCK_SIZE(71) == SIZECLASS_LARGEST, "the last class is the largest");
_Static_assert(CLASS_OF(2048) == SIZECLASS_USUAL - 1, "the largest request has the last class");
_Static_assert(SIZECLASS_COUNT == 76, "a row for each class");
_Static_assert(WORDS(0) < 64, "one word sums up the words of a slab, and has a bit more");
