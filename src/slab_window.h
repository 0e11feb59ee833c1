/* slab_window: 64 neighbours whose free bits are in a register while a batch of blocks is put back.
 *
 * Owns nothing at run time. A word that is stored and read again for each block would make each wait for the one before.
 * docs/experiments/flush-by-runs.md
 *
 * P1  a window has a bit for every block that was carved, and no other
 * P2  the window's own blocks change nothing of the slab until it is closed
 *
 * Called by the room slab alone, for its own slabs.
 */
#ifndef HAKMEM_SLAB_WINDOW_H
#define HAKMEM_SLAB_WINDOW_H

#include "slab.h"

enum { SLAB_BATCH = 32 }; /* blocks that are put back through one window, at most */

struct slab_window {
    uint64_t first, count; /* blocks from `first` on; only that many were ever carved */
    uint64_t bits;
    uintptr_t near; /* where the first one starts */
};

/* The window around the block at or before `middle`, an address in the slab. */
static ALWAYS_INLINE struct slab_window slab_open_window(const struct slab *slab, const void *middle) {
    uint64_t number, last = (uint64_t)(slab->words - 1) * 64;
    sizeclass_divide((uintptr_t)middle - (uintptr_t)slab->start, slab->inverse, &number);
    uint64_t first = number < 32 ? 0 : number - 32;
    first = first < last ? first : last;
    uint64_t word = first / 64, shift = first % 64, bits = slab->bits[word] >> shift;
    if (shift != 0)
        bits |= slab->bits[word + 1] << (64 - shift);
    uint64_t count = slab->carved > first ? slab->carved - first : 0;
    uintptr_t near = (uintptr_t)slab->start + first * sizeclass_table[slab->class].size;
    return (struct slab_window){first, count < 64 ? count : 64, bits, near};
}

static ALWAYS_INLINE void slab_add_bits(struct slab *slab, uint64_t word, uint64_t bits) {
    if (bits == 0)
        return;
    __atomic_store_n(&slab->bits[word], slab->bits[word] | bits, __ATOMIC_RELAXED); /* as in slab_set_free */
    slab->summary |= 1ULL << word;
}

static ALWAYS_INLINE void slab_close_window(struct slab *slab, const struct slab_window *window) {
    uint64_t word = window->first / 64, shift = window->first % 64;
    slab_add_bits(slab, word, window->bits << shift);
    if (shift != 0)
        slab_add_bits(slab, word + 1, window->bits >> (64 - shift));
}

/* True where the processor has the vectors for it. */
bool slab_is_wide(void);

/* True where four blocks at a time can be put back. */
bool slab_can_push_wide(const struct slab *slab);

/* Puts back a batch that way, of at least four blocks. False, and nothing has changed: not all of them lie in the slab and may
 * be freed. */
bool slab_push_wide(struct slab *slab, void *const *blocks, unsigned count);

#endif
