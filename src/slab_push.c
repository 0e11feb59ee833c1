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

/* At most a batch, a block at a time. */
static unsigned slab_push_narrow(struct slab *slab, void *const *blocks, unsigned count, bool near) {
    return near ? slab_push_near(slab, blocks, count) : slab_push_far(slab, blocks, count);
}

static bool slab_same_unit(const void *block, const void *other) {
    return ((uintptr_t)block ^ (uintptr_t)other) < UNIT_SIZE;
}

unsigned slab_push_many(struct slab *slab, void *const *blocks, unsigned count) {
    bool wide = slab_can_push_wide(slab);
    for (unsigned done = 0, now; done < count; done += now) {
        now = count - done < SLAB_BATCH ? count - done : SLAB_BATCH;
        void *const *batch = blocks + done;
        bool near = now >= SLAB_MANY && slab_same_unit(batch[0], batch[now / 2]);
        bool all = near && slab_same_unit(batch[0], batch[now - 1]); /* or hardly */
        if (wide && all && slab_push_wide(slab, batch, now))
            continue;
        unsigned took = slab_push_narrow(slab, batch, now, near);
        if (took < now)
            return done + took;
    }
    return count;
}
