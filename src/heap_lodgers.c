/* Lodgers: a program takes a block or two of many sizes, and each class that begins costs a slab, its record and a magazine. So few of them, and
 * those that come seldom, are blocks of the class of the next power of two, which many share. docs/experiments/lodgers.md */
#include "heap_parts.h"

enum {
    LODGERS_LONG = 2048,  /* bytes: the first blocks of a class, of less ... */
    LODGERS_FIRST = 4,    /* ... so many, lodge; these, or one of longer ones, again ... */
    LODGERS_REFILLS = 64, /* ... after so many of the heap's refills, if of the class that serves them ... */
    LODGERS_BYTES = 512 << 10, /* ... no more are in use; and if ... */
    LODGERS_BESIDE = 2,        /* ... no more blocks are, and one is at hand, ... */
    LODGERS_MOST = 8           /* ... so many, as each takes a few instructions more than a refill's share */
};

/* Refills since when a class's lodgers are counted, but for what a byte does not hold. */
static uint8_t heap_lodging_time(const struct heap *heap) {
    return (uint8_t)(heap->refills / LODGERS_REFILLS);
}

COLD void heap_lodge_none(struct heap *heap, unsigned class) {
    heap->class[class].lodged = UINT8_MAX;
    heap->class[class].lodged_in = heap_lodging_time(heap);
}

/* The class of the power of two that its blocks fit into; plain ones have none that is aligned as well. */
static unsigned heap_lodging(unsigned class) {
    return class < 8 ? class | class >> 1 | class >> 2 : class < SIZECLASS_USUAL ? class | 7 : class;
}

/* Whether there is room for another lodger, the first in a while or not. What lodged before and stayed is among what is in use. */
static NOINLINE bool heap_has_room(struct heap *heap, unsigned serving, bool first) {
    const struct heap_class *theirs = &heap->class[serving];
    uint32_t held = theirs->array ? heap_held(heap, serving) : 0, at_hand = held + theirs->spare_count;
    uint32_t most = first ? LODGERS_BYTES / sizeclass_table[serving].size : LODGERS_BESIDE;
    return heap_out(heap, theirs) <= at_hand + most && (first || held > 0);
}

COLD unsigned heap_serving(struct heap *heap, unsigned class) {
    struct heap_class *mine = &heap->class[class];
    unsigned serving = heap_lodging(class);
    if (serving == class)
        return class;
    uint8_t now = heap_lodging_time(heap);
    if (mine->lodged >= LODGERS_FIRST || class >= sizeclass_of(LODGERS_LONG)) {
        bool first = mine->lodged_in != now;
        if ((!first && mine->lodged >= LODGERS_MOST) || !heap_has_room(heap, serving, first))
            return class;
        if (first)
            mine->lodged = 0;
    }
    mine->lodged++;
    mine->lodged_in = now;
    return serving;
}
