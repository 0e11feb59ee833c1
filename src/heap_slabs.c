/* The slabs of a heap: filed by how full they are, collected from the inbox, let go. */
#include "heap.h"

enum { COLLECT_WORDS = 256 }; /* of bits, that one call moves, and those of one slab more */

/* The bin of a slab with `free` of `blocks` blocks free: a quarter of the blocks each. */
static unsigned heap_bin_of(unsigned free, unsigned blocks) {
    return free == 0 ? HEAP_NO_BIN : free * 4 / blocks < HEAP_BINS ? free * 4 / blocks : HEAP_BINS - 1;
}

void heap_unlink(struct heap_class *class, struct slab *slab) {
    if (slab->bin == HEAP_NO_BIN)
        return;
    if (slab->next)
        slab->next->previous = slab->previous;
    if (slab->previous)
        slab->previous->next = slab->next;
    else
        class->bin[slab->bin] = slab->next;
    slab_set_bin(slab, HEAP_NO_BIN, 0, 0);
}

NOINLINE void heap_file_anew(struct heap_class *class, struct slab *slab) {
    unsigned blocks = slab->blocks, bin = heap_bin_of(slab->free, blocks);
    heap_unlink(class, slab);
    if (bin == HEAP_NO_BIN)
        return;
    /* Rounded up: the first number of free blocks that is in the bin, and the last that is. */
    unsigned least = (bin * blocks + 3) / 4, next = ((bin + 1) * blocks + 3) / 4;
    slab_set_bin(slab, bin, bin == 0 ? 1 : least, bin == HEAP_BINS - 1 ? blocks : next - 1);
    ASSERT(P2, slab->bin_least <= slab->free && slab->free <= slab->bin_most);
    slab->previous = NULL;
    slab->next = class->bin[bin];
    if (slab->next)
        slab->next->previous = slab;
    class->bin[bin] = slab;
}

void heap_let_go(struct heap_class *class, struct slab *slab) {
    heap_unlink(class, slab);
    if (class->carving == slab)
        class->carving = NULL;
    if (class->empty == slab)
        class->empty = NULL;
    slab_delete(slab);
}

NOINLINE void heap_settle_empty(struct heap_class *class, struct slab *slab) {
    bool another = class->empty && class->empty != slab;
    if (another && !remote_is_on_its_way(slab)) {
        heap_let_go(class, slab);
        return;
    }
    class->empty = slab;
    heap_file(class, slab);
}

bool heap_collect(struct heap *heap) {
    for (unsigned words = 0; words < COLLECT_WORDS;) {
        if (!heap->collecting)
            heap->collecting = remote_take(&heap->inbox);
        struct slab *slab = heap->collecting;
        if (!slab)
            return words > 0;
        heap->collecting = __atomic_load_n(&slab->inbox_next, __ATOMIC_RELAXED);
        if (__atomic_load_n(&slab->owner, __ATOMIC_ACQUIRE) != &heap->inbox) {
            remote_deliver(slab); /* it was adopted while it was on the way */
            words++;
            continue;
        }
        struct heap_class *class = &heap->class[slab->class];
        unsigned before = slab->free;
        words += remote_collect(slab);
        class->out -= slab->free - before;
        heap_settle(class, slab);
    }
    return true;
}
