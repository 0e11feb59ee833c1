/* Many blocks go back to their slab. */
#include "slab_window.h"

/* One after the other. */
static NOINLINE unsigned slab_push_near(struct slab *slab, void *const *blocks, unsigned count) {
    uint64_t start = (uintptr_t)slab->start, inverse = slab->inverse, carved = slab->carved, number;
    uint64_t summary = slab->summary;
    void *const *block = blocks, *const *end = blocks + count;
    struct slab_window window = slab_open_window(slab, blocks[count / 2]);
    for (; block < end; block++) {
        if (LIKELY(sizeclass_divide((uintptr_t)*block - window.near, inverse, &number) &&
                   number < window.count)) {
            if (UNLIKELY(bits_set(&window.bits, number))) /* P3 */
                break;
        } else if (!slab_set_free(slab, (uintptr_t)*block - start, inverse, carved, &summary)) {
            break;
        }
    }
    slab->summary = summary;
    slab_close_window(slab, &window);
    return (unsigned)(block - blocks);
}

unsigned slab_push_many(struct slab *slab, void *const *blocks, unsigned count) {
    bool wide = slab_can_push_wide(slab);
    for (unsigned done = 0, now; done < count; done += now) {
        now = count - done < SLAB_BATCH ? count - done : SLAB_BATCH;
        void *const *batch = blocks + done;
        bool near = now >= SLAB_MANY && pagemap_same_unit(batch[0], batch[now / 2]);
        bool all = near && pagemap_same_unit(batch[0], batch[now - 1]); /* or hardly */
        if (wide && all && slab_push_wide(slab, batch, now))
            continue;
        unsigned took = near ? slab_push_near(slab, batch, now) : slab_push_far(slab, batch, now);
        if (took < now)
            return done + took;
    }
    return count;
}
