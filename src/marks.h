/* marks: what a long run of frees gives back of one slab, a byte for each block.
 *
 * Owns, for one heap, a table with a byte for every block of one slab. A program that frees one block of a slab after the other
 * marks them there, instead of pushing pointers that are sorted by slabs again when the magazine is full: no batch, so that no loop
 * of unforeseeable length stands between two frees, and what a free does is done beside what the program waits for. Bytes,
 * because a mark then waits for no other. When all blocks of the slab are back, or the run goes on elsewhere, the bytes become
 * bits of the slab. docs/experiments/marks.md
 *
 * P1  only an address at which a block starts that was carved is marked; another changes nothing
 * P2  a marked block is not free in its slab, so that the slab stays; one that was marked twice, or free already, is said to be when
 *     the marks are collected, and is free once. A byte counts to 255: a block that is freed 256 times stays out unsaid
 * P3  when no slab is marked, no byte of the table is set
 *
 * Called by heap and alloc; by the heap's thread, or for one that sleeps by who stands in for it. Constant time but for
 * marks_collect, which looks at 64 words at most.
 */
#ifndef HAKMEM_MARKS_H
#define HAKMEM_MARKS_H

#include "slab.h"

enum { MARKS_BYTES = UNIT_SIZE / SIZECLASS_GRANULE, MARKS_LARGEST = 4096 /* bytes of a block */ };

struct marks {
    uintptr_t start; /* of the slab's blocks */
    uint64_t span;   /* bytes of those that were carved; 0: no slab */
    uint64_t scale;  /* ceil(2^32 / bytes of a block) */
    unsigned char *bytes;
    uint32_t left;  /* blocks of the slab that are not back yet; relaxed for a visitor's glance */
    uint32_t words; /* of 64 bytes each, that marks may be in */
    struct slab *slab;
};

enum marks_found { MARKS_ELSEWHERE, MARKS_TAKEN, MARKS_LAST };

/* Marks the block. Elsewhere: it is none of the slab's, or may not be freed. Last: all blocks of the slab are back.
 * The fraction of a product is below 2^20 exactly where a block starts, see Lemire, Kaser and Kurz 2019, "Faster remainder by direct
 * computation": a scale that is rounded up adds less than the block's bytes for each block, 64 KiB in all, and a byte
 * beyond a block's start adds at least 2^32 / MARKS_LARGEST. */
static ALWAYS_INLINE enum marks_found marks_add(struct marks *marks, const void *block) {
    uint64_t offset = (uintptr_t)block - marks->start;
    if (UNLIKELY(offset >= marks->span))
        return MARKS_ELSEWHERE;
    uint64_t product = offset * marks->scale;
    unsigned char *mark = marks->bytes + (product >> 32);
    if (UNLIKELY((uint32_t)product >= 1u << 20))
        return MARKS_ELSEWHERE;
    *mark = (unsigned char)(*mark + 1);
    return LIKELY(--marks->left > 0) ? MARKS_TAKEN : MARKS_LAST;
}

/* The slab's blocks are marked from now on, if one unit is all that it has; no other slab's are. False: there is no memory for the
 * table. */
bool marks_begin(struct marks *marks, struct slab *slab);

/* What is marked becomes free in its slab; no slab is marked any more. Returns how many blocks that were. */
unsigned marks_collect(struct marks *marks);

#endif
