/* pack: free blocks that are put by, thirty at a time, or 126 of a class with a deep magazine.
 *
 * Owns, for one heap, a stack of packs for every size class: what long runs of frees leave for the long runs of mallocs
 * that may follow. A pack holds pointers only; no block and no slab is touched. This is the depot of Bonwick and
 * Adams 2001 ("Magazines and Vmem"), for one thread. What nobody needs between two looks of a visitor has rested.
 *
 * P1  a heap has at most 8 MiB of blocks in packs, 4,096 packs, and 32 of one class, where a deep one counts as four; more of a class
 *     of which all that the heap has, in use or put by, is small, while the heap has less than half of its packs; and of one that comes in
 *     waves and finds room, while it has less than eight ninths (docs/experiments/packs.md, docs/experiments/waves-of-a-class.md)
 * P2  all heaps that are in use together have at most the configured bytes
 * P3  a pack is in one stack, or among the unused, or in the hands of its heap
 *
 * Called by heap alone, inside its `visit` but for pack_waits. Every call takes constant time. Packs are never given back: a heap uses its own
 * again.
 */
#ifndef HAKMEM_PACK_H
#define HAKMEM_PACK_H

#include "sizeclass.h"

#include <stdbool.h>
#include <stdint.h>

/* Words of a pack, its head and one that it leaves to the newest block of an array among them. */
enum {
    PACK_WORDS = 32,
    PACK_BLOCKS = PACK_WORDS - 2,
    PACK_DEEP_WORDS = 128,
    PACK_DEEP_BLOCKS = PACK_DEEP_WORDS - 2
};

/* As long as the array of a magazine, and with its blocks in the same places: the one can become the other. Packs are aligned to 256
 * bytes, so that in the low byte of the next one's address there is room for how many blocks this one has. */
struct pack {
    uintptr_t head;
    void *blocks[];
};

/* Below it in its stack, or among the unused. */
static inline struct pack *pack_next(const struct pack *pack) {
    return (struct pack *)(pack->head & ~(uintptr_t)UINT8_MAX);
}

static inline unsigned pack_count(const struct pack *pack) {
    return (uint8_t)pack->head;
}

/* More blocks than others have room for. */
static inline bool pack_is_deep(const struct pack *pack) {
    return pack_count(pack) > PACK_BLOCKS;
}

/* As how many packs so many blocks count. */
static inline unsigned pack_counts(unsigned blocks) {
    return blocks / PACK_WORDS + 1;
}

/* Of so many blocks, those that stay when one pack is to go: with the last one a deep pack is still told from others. */
static inline unsigned pack_stays(unsigned blocks) {
    return blocks < PACK_WORDS ? 0 : blocks / PACK_WORDS * PACK_WORDS - 1;
}

struct pack_stack {
    struct pack *newest;
    uint16_t count, rested; /* packs; the least that they were since pack_rest */
};

struct packs {
    struct pack *unused[2]; /* the second: deep ones */
    size_t bytes;           /* of the blocks in packs */
    uint32_t count;         /* packs */
    struct pack_stack of[SIZECLASS_COUNT];
};

/* Bytes of blocks that all heaps together may put by. Told once. */
void pack_configure(size_t bytes);

/* An empty pack, deep or not, if one more of the class may be put by, while `heaps` heaps are in use and this one has `out` blocks of the
 * class outside of its slabs (0: all of them may be, however many); else NULL. */
struct pack *pack_new(struct packs *packs, unsigned class, bool deep, unsigned heaps, unsigned out);

/* Whether so many blocks of a class may be put by at once, if nothing else is. */
bool pack_has_room(unsigned class, unsigned heaps, unsigned blocks);

/* Puts a pack by that has so many blocks: a deep one more than PACK_BLOCKS. */
void pack_put(struct packs *packs, unsigned class, struct pack *pack, unsigned count);

/* Takes the newest one of a class; NULL: there is none. */
struct pack *pack_take(struct packs *packs, unsigned class);

/* True when there is one of the class. A hint, also outside of `visit`: relaxed, as the stores that it reads. */
static inline bool pack_waits(const struct packs *packs, unsigned class) {
    return __atomic_load_n(&packs->of[class].newest, __ATOMIC_RELAXED) != NULL;
}

/* The pack is empty: it waits for its next use. */
void pack_drop(struct packs *packs, struct pack *pack, bool deep);

/* From here on it is counted anew what rests. */
void pack_rest(struct packs *packs);

#endif
