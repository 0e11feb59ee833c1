#include "sizeclass.h"

/* The exponent of the doubling that `bytes` (> 128) falls into: 7 for 129..256. */
#define EXPONENT(bytes) (63 - __builtin_clzll((unsigned long long)(bytes)-1))
#define CLASS_ABOVE(bytes) (8 + (EXPONENT(bytes) - 7) * 8 + (int)((((bytes)-1) >> (EXPONENT(bytes) - 3)) - 8))
enum {
    LINE = SIZECLASS_COLOUR,
    A_PAGE = CLASS_ABOVE(4096),
    LONGER_FROM = CLASS_ABOVE(8192),
    NOT_LONGER = CLASS_ABOVE(15360),
    LAST = SIZECLASS_USUAL - 1,
    PLAIN_AFTER = SIZECLASS_USUAL - CLASS_ABOVE(256) / 8 /* and a class's eighth is its plain one */
};

#define SIZE_OF(c) ((c) < 8 ? ((c) + 1) * 16 : (9 + ((c)&7)) << (((c) >> 3) + 3))
#define IS_PLAIN(c) ((c) >= SIZECLASS_USUAL)
/* The first level of a cache has the same sets for page after page. So blocks of 4 KiB, and of 8 KiB and more, are a line longer than others would be,
 * where that costs no block of a slab, or only that which colours would. */
#define IS_LONGER(c) ((c) == A_PAGE || ((c) >= LONGER_FROM && (c) != NOT_LONGER))
#define BLOCK_SIZE(c) \
    (IS_PLAIN(c) ? SIZECLASS_PLAIN_FIRST << ((c)&7) : SIZE_OF(c) + (IS_LONGER(c) ? LINE : 0))

#define IS_ABOVE(granules, bytes) ((granules) > (bytes) / 16 && (granules) <= ((bytes) + LINE) / 16)
#define CLASS_OF(granules)                                                  \
    (uint8_t)((granules) == 0            ? 0                                \
              : (granules) < 9           ? (granules)-1                     \
              : IS_ABOVE(granules, 4096) ? A_PAGE                           \
              : (granules) <= 512 || IS_ABOVE(granules, 15360)              \
                  ? CLASS_ABOVE((granules) < 9 ? 144ULL : (granules)*16ULL) \
                  : CLASS_ABOVE((granules) <= 512 ? 144ULL : (granules)*16ULL - LINE))

#define GRANULES_4(g) CLASS_OF((g)), CLASS_OF((g) + 1), CLASS_OF((g) + 2), CLASS_OF((g) + 3)
#define GRANULES_16(g) GRANULES_4(g), GRANULES_4((g) + 4), GRANULES_4((g) + 8), GRANULES_4((g) + 12)
#define GRANULES_64(g) GRANULES_16(g), GRANULES_16((g) + 16), GRANULES_16((g) + 32), GRANULES_16((g) + 48)
#define GRANULES_256(g) GRANULES_64(g), GRANULES_64((g) + 64), GRANULES_64((g) + 128), GRANULES_64((g) + 192)
#define GRANULES_1024(g) \
    GRANULES_256(g), GRANULES_256((g) + 256), GRANULES_256((g) + 512), GRANULES_256((g) + 768)

const uint8_t sizeclass_by_size[SIZECLASS_BY_SIZE] = {GRANULES_1024(0), GRANULES_1024(1024), CLASS_OF(2048)};

/* A slab of the longest ones takes twice as many, as a line more costs a block of it. */
#define UNITS(c) (BLOCK_SIZE(c) <= 4096 ? 1 : (c) == LAST ? 8 : 4)
#define FITTING(c) (UNITS(c) * UNIT_SIZE / BLOCK_SIZE(c))
#define BLOCKS(c) (FITTING(c) < SIZECLASS_BLOCKS_MOST ? FITTING(c) : SIZECLASS_BLOCKS_MOST)
#define WORDS(c) ((BLOCKS(c) + 63) / 64)
#define SHARE(c) (4 * UNIT_SIZE / BLOCK_SIZE(c)) /* blocks in 256 KiB */
#define MAGAZINE(c) (uint8_t)(SHARE(c) > SIZECLASS_MAGAZINE ? SIZECLASS_MAGAZINE : SHARE(c))
#define POSTED(c) \
    ((uint64_t)(BLOCK_SIZE(c) > SIZECLASS_POSTED_LEAST ? BLOCK_SIZE(c) : SIZECLASS_POSTED_LEAST) << 32 | 1)

/* Which classes have colours: of more than 128 bytes, but the plain ones. Fine ones are a line apart; others keep the alignment that their blocks
 * have without colours, up to 256 bytes. Fine are those that would need it most: of powers of two, and multiples of 512. */
enum { COLOURED_FROM = CLASS_ABOVE(144), COLOURS_MOST = 255 };
#define TOP(c) ((c) | 7) /* the class of the next power of two */
#define HAS_COLOURS(c) ((c) >= COLOURED_FROM && !IS_PLAIN(c))
#define IS_FINE(c) ((c) == TOP(c) || SIZE_OF(c) % 512 == 0)
#define POWER(c) (SIZE_OF(c) & -SIZE_OF(c))
#define GRAIN(c) (IS_FINE(c) || POWER(c) <= 64 ? 6 : POWER(c) == 128 || SIZE_OF(c) > 2048 ? 7 : 8)
/* Up to the size of a block, of which one fewer then fits into most slabs; of more than 2 KiB, but 4, about as many as cost none, or a KiB; of 8 KiB and more
 * as many as cost none. */
#define SLACK(c) ((UNITS(c) * UNIT_SIZE) % BLOCK_SIZE(c) + (1 << GRAIN(c)))
#define SPREAD(c)                                                                 \
    (SIZE_OF(c) <= 2048 || (c) == A_PAGE || SLACK(c) > BLOCK_SIZE(c) ? SIZE_OF(c) \
     : SLACK(c) > 1024 || SIZE_OF(c) >= 8192                         ? SLACK(c)   \
                                                                     : 1024)
#define NUMBER(c) (SPREAD(c) >> GRAIN(c))
#define COLOURS(c) (uint8_t)(!HAS_COLOURS(c) ? 1 : NUMBER(c) > COLOURS_MOST ? COLOURS_MOST : NUMBER(c))
/* The first class from c on all of whose blocks start at a multiple of a, of which SIZE_OF(c) is one: it, one of the next two, or the plain one of
 * the next power of two. */
#define KEEPS(c, a) (SIZE_OF(c) % (a) == 0 && (!HAS_COLOURS(c) || (a) <= 1 << GRAIN(c)))
#define ALIGNED_TO(c, a)                                        \
    (uint8_t)(IS_PLAIN(c) || KEEPS(c, a)              ? (c)     \
              : (c) + 1 < TOP(c) && KEEPS((c) + 1, a) ? (c) + 1 \
              : (c) + 2 < TOP(c) && KEEPS((c) + 2, a) ? (c) + 2 \
                                                      : (c) / 8 + PLAIN_AFTER)
#define ALIGNED_CLASSES(c)                                                                             \
    {                                                                                                  \
        (uint8_t)(c), ALIGNED_TO(c, 128), ALIGNED_TO(c, 256), ALIGNED_TO(c, 512), ALIGNED_TO(c, 1024), \
            ALIGNED_TO(c, 2048), ALIGNED_TO(c, 4096)                                                   \
    }
#define ROW(c)                                                                                        \
    {                                                                                                 \
        .inverse = UINT64_MAX / BLOCK_SIZE(c) + 1, .size = (uint16_t)BLOCK_SIZE(c),                   \
        .blocks = (uint16_t)BLOCKS(c), .units = UNITS(c), .words = WORDS(c), .magazine = MAGAZINE(c), \
        .posted = POSTED(c), .colours = COLOURS(c), .grain = GRAIN(c), .aligned = ALIGNED_CLASSES(c)  \
    }
#define ROWS_8(c) \
    ROW((c)), ROW((c) + 1), ROW((c) + 2), ROW((c) + 3), ROW((c) + 4), ROW((c) + 5), ROW((c) + 6), ROW((c) + 7)

const struct sizeclass sizeclass_table[SIZECLASS_COUNT] = {
    ROWS_8(0), ROWS_8(8), ROWS_8(16), ROWS_8(24), ROWS_8(32), ROWS_8(40), ROWS_8(48), ROWS_8(56), ROWS_8(64),
    ROW(72),   ROW(73),   ROW(74),    ROW(75),    ROW(76),    ROW(77),    ROW(78),    ROW(79)};

_Static_assert(BLOCK_SIZE(A_PAGE / 8 + PLAIN_AFTER) == 4096, "a page has a class of its own");
_Static_assert(SIZECLASS_COUNT == 80, "a row for each class");
_Static_assert(WORDS(0) < 64, "one word sums up the words of a slab, and has a bit more");
