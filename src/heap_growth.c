/* Growth: a block that creeps, by many small steps (realloc), is copied whenever it leaves its class, and a class is only 6 to 12 % longer than
 * the one before. So the copy is of every second class, and where such copies go on without end, of every fourth: a half or a third longer.
 * docs/experiments/growth.md */
#include "heap_parts.h"

/* Copies have no end when they come to more than what blocks copy that grow once, and stay: five times their bytes. */
enum {
    GROWTH_FROM = 128, /* bytes: up to there classes are a granule apart, and copies short */
    GROWTH_CREEP = 16, /* a step of at most this share of the block creeps: many more will come */
    GROWTH_STEP = 4,   /* one that is longer, but no more than this share, takes off its bytes */
    GROWTH_ENDLESS = 6 /* what was copied, in multiples of what is in use */
};

unsigned heap_growing(struct heap *heap, size_t usable, size_t size) {
    unsigned class = sizeclass_of(size);
    size_t step = size - usable;
    if (size <= GROWTH_FROM || step > usable / GROWTH_STEP)
        return class;
    if (step > usable / GROWTH_CREEP) {
        heap->crept -= heap->crept < usable ? heap->crept : usable;
        return class;
    }
    uint64_t endless = (uint64_t)GROWTH_ENDLESS * superslab_used_bytes();
    if (heap->crept >= endless)
        return class | 3;
    heap->crept += usable;
    return class | 1;
}
