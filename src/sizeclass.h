/* sizeclass: the geometry of small blocks.
 *
 * Owns the 72 size classes from 16 bytes to 32 KiB and what follows from a class: block size, how many
 * units a slab of it takes, how many blocks that makes, and how many of them a thread may keep at hand.
 * Up to 128 bytes a class every 16 bytes, above it eight classes a doubling, some a line longer. The table is a constant: it
 * needs no start-up, and its pages are shared by every process.
 *
 * The first lines of blocks that begin at the same places of each unit lie in few sets of a cache: of blocks of 512 bytes in an eighth of
 * them, of 1,152 in an 18th. So slabs have colours: the first block of one begins some lines behind the slab's start, of another elsewhere
 * (Bonwick 1994, "The slab allocator"; Afek, Dice and Morrison 2011, "Cache index-aware memory allocation"). What asks for more alignment
 * than is left has eight classes of its own, of powers of two, that are plain: without colours. docs/experiments/colours.md, colours-of-large-blocks.md
 *
 * P1  a class's block size is a multiple of 16, and of the power of two that the request is, if it is one of up to 64 bytes
 * P2  above 128 bytes at most 12.5 % of a block is waste inside it
 * P3  offset * inverse / 2^64 is the exact block number for every offset at which a block starts, and its fraction is
 *     below inverse / 2^64 exactly at those offsets (Lemire, Kaser and Kurz 2019, "Faster remainder by direct computation")
 * P4  a colour is a multiple of 64 bytes below 17 KiB and below the block's size, and the same whenever it is asked
 *
 * Called by slab, remote, heap and alloc. Never looks at an option.
 */
#ifndef HAKMEM_SIZECLASS_H
#define HAKMEM_SIZECLASS_H

#include "base.h"
#include "boxes.h"

#include <stddef.h>
#include <stdint.h>

enum {
    SIZECLASS_USUAL = 72, /* that malloc takes from; the plain ones follow */
    SIZECLASS_PLAINS = 8, /* for more alignment than SIZECLASS_COLOUR: 256 bytes, 512, ... 32 KiB */
    SIZECLASS_PLAIN_FIRST = 256,
    SIZECLASS_COUNT = SIZECLASS_USUAL + SIZECLASS_PLAINS,
    SIZECLASS_SET_WORDS = (SIZECLASS_COUNT + 63) / 64, /* of a set of classes, a bit each */
    SIZECLASS_COLOUR = 64,     /* bytes from one colour to the next, at least: a cache line */
    SIZECLASS_TOLD_FROM = 6,   /* powers of two: alignments that classes are told apart by, ... */
    SIZECLASS_TOLD_APART = 12, /* ... as what is aligned to a page is aligned to more as far as its size is */
    SIZECLASS_GRANULE = 16,
    SIZECLASS_LARGEST = 32 * 1024, /* bytes: larger requests are runs of units */
    SIZECLASS_BY_SIZE = SIZECLASS_LARGEST / SIZECLASS_GRANULE + 1,
    SIZECLASS_MAGAZINE = 31, /* pointers in a full magazine of small blocks */
    SIZECLASS_BLOCKS_MOST =
        63 * 64, /* of a slab: 64 of the smallest are given up for a bit of its summary, see remote_return */
    SIZECLASS_POSTED_LEAST = 512, /* bytes: so one bound on the sum bounds the number of blocks, too */
    UNIT_SHIFT = 16,
    UNIT_SIZE = 1 << UNIT_SHIFT /* bytes: the grain of address space, docs/decisions/0002 */
};

struct sizeclass {
    uint64_t inverse; /* ceil(2^64 / size) */
    uint64_t posted;  /* what a block adds to the sums of an outbox: 1, and in the upper half its bytes */
    uint16_t size;    /* bytes a block */
    uint16_t blocks;  /* in the largest slab */
    uint8_t units;    /* address units the largest slab takes */
    uint8_t words;    /* 64-bit words that hold a bit for each block */
    uint8_t magazine; /* blocks in a full magazine: at most 256 KiB */
    uint8_t colours;  /* how many there are, ... */
    uint8_t grain;    /* ... and 2 to the power of this many bytes from one to the next */
    /* Where its size, but for a line more, is a multiple of 64 bytes, of 128, ... of 4096: the first class from here on all of whose blocks
     * start at one. */
    uint8_t aligned[SIZECLASS_TOLD_APART - SIZECLASS_TOLD_FROM + 1];
};

extern const uint8_t sizeclass_by_size[SIZECLASS_BY_SIZE];
extern const struct sizeclass sizeclass_table[SIZECLASS_COUNT];

/* The class of a request of `size` bytes, 0 <= size <= SIZECLASS_LARGEST; 0 bytes are served as 1. */
static ALWAYS_INLINE unsigned sizeclass_of(size_t size) {
    return sizeclass_by_size[(size + SIZECLASS_GRANULE - 1) / SIZECLASS_GRANULE];
}

/* Which block holds the byte at `offset` from a slab's start, *number; false when it does not start there. */
static ALWAYS_INLINE bool sizeclass_divide(uint64_t offset, uint64_t inverse, uint64_t *number) {
    uint64_t rest = bits_product(offset, inverse, number);
    return rest < inverse;
}

/* A fraction of 2^32 for a number, as that of a unit: those of neighbours, which are likely alike, are far apart, whatever lies between them. The
 * multiples of the golden ratio (Knuth, TAOCP 3, 6.4). */
static ALWAYS_INLINE uint64_t sizeclass_golden(uint64_t number) {
    return (uint32_t)number * 0x9e3779b9u;
}

/* Bytes from the start of a slab's first unit, which has this number, to its first block. */
static ALWAYS_INLINE uint64_t sizeclass_colour(const struct sizeclass *geometry, uint64_t unit) {
    return sizeclass_golden(unit) * geometry->colours >> 32 << geometry->grain;
}

/* Blocks of a slab of so many units, the first of which has this number. */
static ALWAYS_INLINE uint64_t sizeclass_blocks(const struct sizeclass *geometry, unsigned units,
                                               uint64_t unit) {
    uint64_t number;
    sizeclass_divide(((uint64_t)units << UNIT_SHIFT) - sizeclass_colour(geometry, unit), geometry->inverse,
                     &number);
    return number < geometry->blocks ? number : geometry->blocks;
}

/* The smallest class whose blocks hold `size` bytes and all start at a multiple of `alignment` (a power of
 * two); SIZECLASS_COUNT if there is none. The class of a multiple of the alignment is one itself, because classes are multiples of an eighth of
 * their doubling; where its colours are not, there is another class for that. */
static ALWAYS_INLINE unsigned sizeclass_aligned(size_t size, size_t alignment) {
    if (UNLIKELY(size > SIZECLASS_LARGEST || alignment > SIZECLASS_LARGEST))
        return SIZECLASS_COUNT;
    size_t multiple = align_up(size + (size == 0), alignment);
    if (UNLIKELY(multiple > SIZECLASS_LARGEST))
        return SIZECLASS_COUNT;
    unsigned class = sizeclass_of(multiple);
    /* Programs that ask for alignment may ask for any: a branch would not be foretold. */
    unsigned power = bits_highest(alignment | SIZECLASS_COLOUR), most = SIZECLASS_TOLD_APART;
    return sizeclass_table[class].aligned[(power < most ? power : most) - SIZECLASS_TOLD_FROM];
}

#endif
