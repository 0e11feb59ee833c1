/* Classes that are at rest while the heap grows: what they have at hand goes back to their slabs, and those that are empty then serve others. A class
 * that a program is done with would keep two magazines, up to 512 KiB, and its packs. docs/experiments/classes-at-rest.md */
#include "heap_parts.h"

enum {
    REST_ROUND = 128 << 10, /* bytes by which the heap grows between two looks, ... */
    REST_PART = 32,         /* ... and this part of what is in use */
    REST_AT_ONCE = 8,       /* classes */
    REST_LEAST = 2048,      /* bytes that a class has at hand, and ... */
    REST_SHARE = 2          /* ... this part of what is out of it: less would hardly empty a slab */
};

/* A class of which something was allocated or freed looks otherwise, but for one that has as much at hand again. */
static uint16_t heap_looks(const struct heap *heap, unsigned class) {
    const struct heap_class *mine = &heap->class[class];
    return (uint16_t)((uintptr_t)heap->top[class] / sizeof(void *) ^ mine->spare_count << 9 ^ mine->out << 4);
}

/* What comes in waves will be needed as a whole. */
static bool heap_could_give(const struct heap *heap, unsigned class) {
    const struct heap_class *mine = &heap->class[class];
    unsigned at_hand = heap_held(heap, class) + mine->spare_count;
    return (pack_waits(&heap->packs, class) || (at_hand * (size_t)sizeclass_table[class].size >= REST_LEAST &&
                                                REST_SHARE * at_hand >= mine->out)) &&
           !(heap->waves && heap_has_waves(heap, class));
}

/* A round is over. */
static void heap_find_rested(struct heap *heap) {
    struct stillness *still = &heap->still;
    for (unsigned word = 0; word < SIZECLASS_SET_WORDS; word++) {
        uint64_t rested = 0;
        for (uint64_t left = still->begun[word]; left != 0; left &= left - 1) {
            unsigned class = 64 * word + bits_lowest(left);
            uint16_t looks = heap_looks(heap, class);
            if (UNLIKELY(looks == still->seen[class]) && heap_could_give(heap, class))
                bits_set(&rested, class);
            still->seen[class] = looks;
        }
        still->rested[word] = rested;
    }
}

/* As it is when it was found at rest: what it has at hand goes, and up to *packs packs, of which those are taken that went. */
static void heap_empty_if_at_rest(struct heap *heap, unsigned class, unsigned *packs) {
    struct stillness *still = &heap->still;
    uint32_t before = heap->packs.count;
    if (heap_looks(heap, class) != still->seen[class])
        return;
    heap_empty_class(heap, class, *packs);
    *packs -= before - heap->packs.count;
    if (!pack_waits(&heap->packs, class))
        return;
    still->seen[class] = heap_looks(heap, class); /* the others go the next time */
    bits_set(&still->rested[class / 64], class);
}

void heap_empty_rested(struct heap *heap) {
    struct stillness *still = &heap->still;
    unsigned packs = HEAP_UNPACK, left = REST_AT_ONCE;
    if (!still->more)
        heap_find_rested(heap);
    still->more = false;
    for (unsigned word = 0; word < SIZECLASS_SET_WORDS; word++) {
        for (; still->rested[word] != 0 && left > 0 && packs > 0; left--) {
            unsigned class = 64 * word + bits_lowest(still->rested[word]);
            still->rested[word] &= still->rested[word] - 1;
            heap_empty_if_at_rest(heap, class, &packs);
        }
        if (still->rested[word] != 0)
            still->more = true;
    }
    still->grown = 0;
    still->look_at = REST_ROUND + superslab_used_bytes() / REST_PART;
    if (still->more)
        still->look_at = 0;
}
