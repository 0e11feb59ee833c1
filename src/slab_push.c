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

/* At most a batch. */
static unsigned slab_push_batch(struct slab *slab, void *const *blocks, unsigned count) {
    if (count < SLAB_MANY || ((uintptr_t)blocks[0] ^ (uintptr_t)blocks[count / 2]) >= UNIT_SIZE)
        return slab_push_far(slab, blocks, count);
    return slab_push_wide(slab, blocks, count) ? count : slab_push_near(slab, blocks, count);
}

unsigned slab_push_many(struct slab *slab, void *const *blocks, unsigned count) {
    unsigned done = 0, now, took;
    do {
        now = count - done < SLAB_BATCH ? count - done : SLAB_BATCH;
        took = slab_push_batch(slab, blocks + done, now);
        done += took;
    } while (took == now && done < count);
    return done;
}
