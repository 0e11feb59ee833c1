/* Four blocks at a time go back to their slab. docs/experiments/flush-by-runs.md */
#include "slab_window.h"

#include "base_wide.h"

_Static_assert(SLAB_BATCH <= 32 && SLAB_MANY >= 4, "what base_gather takes");

/* Undoes slab_set_free, but for the summary. */
static void slab_take_back(struct slab *slab, const void *block) {
    uint32_t number = slab_block_number(slab, block);
    uint64_t bits = slab->bits[number / 64] & ~(1ULL << number % 64);
    __atomic_store_n(&slab->bits[number / 64], bits, __ATOMIC_RELAXED); /* as in slab_set_free */
}

/* Those of blocks[] that `which` has a bit for: all of them, or none. */
static bool slab_push_some(struct slab *slab, void *const *blocks, uint32_t which) {
    uint64_t summary = slab->summary;
    for (uint32_t left = which; left; left &= left - 1) {
        unsigned at = bits_lowest(left);
        uint64_t offset = (uintptr_t)blocks[at] - (uintptr_t)slab->start;
        if (LIKELY(slab_set_free(slab, offset, slab->inverse, slab->carved, &summary)))
            continue;
        for (uint32_t back = which & ((1u << at) - 1); back; back &= back - 1)
            slab_take_back(slab, blocks[bits_lowest(back)]);
        return false;
    }
    slab->summary = summary;
    return true;
}

BASE_WIDE bool slab_push_wide(struct slab *slab, void *const *blocks, unsigned count) {
    struct slab_window window = slab_open_window(slab, blocks[count / 2]);
    uint64_t span = window.count * sizeclass_table[slab->class].size;
    struct base_row row = {window.near, span, (slab->inverse + UINT32_MAX) >> 32};
    struct base_gathered found = base_gather(&row, blocks, count);
    uint32_t outside = ~found.inside & (uint32_t)((1ULL << count) - 1);
    bool twice = (found.bits & window.bits) || bits_count(found.bits) != bits_count(found.inside);
    if (UNLIKELY(found.misfit || twice))
        return false;
    if (outside && !slab_push_some(slab, blocks, outside))
        return false;
    window.bits |= found.bits;
    slab_close_window(slab, &window);
    return true;
}

bool slab_can_push_wide(const struct slab *slab) {
    return has(wide) && slab_is_wide() && sizeclass_table[slab->class].size <= BASE_WIDE_LARGEST;
}
