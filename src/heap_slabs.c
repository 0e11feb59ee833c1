/* The slabs of a heap: filed by how full they are, collected from the inbox, let go. */
#include "heap_parts.h"

#include <stddef.h>

/* The bin of a slab with `free` of `blocks` blocks free: a quarter of the blocks each. */
static unsigned heap_bin_of(unsigned free, unsigned blocks) {
    return free == 0 ? HEAP_NO_BIN : free * 4 / blocks < HEAP_BINS ? free * 4 / blocks : HEAP_BINS - 1;
}

static struct heap *heap_of_class(struct heap_class *class, unsigned number) {
    return (struct heap *)((unsigned char *)(class - number) - offsetof(struct heap, class));
}

/* The list of slabs of which three quarters are free has its first one, or lost its last. */
static ALWAYS_INLINE void heap_note_hollow(struct heap *heap, unsigned class) {
    heap->hollow[class / 64] ^= 1ULL << class % 64;
}

/* A slab is the first of that list now. */
static COLD void heap_enter_hollow(struct heap_class *class, struct slab *slab) {
    struct heap *heap = heap_of_class(class, slab->class);
    heap->hollowing.units += slab->units;
    slab->purged_free &= (uint16_t) ~(HEAP_SENT | HEAP_PASSED);
    if (!slab->next)
        heap_note_hollow(heap, slab->class);
}

/* It has left it: it fills again, or is empty, so that whole units would have been free for anybody. Its pages went in vain. */
static COLD void heap_leave_hollow(struct heap_class *class, struct slab *slab) {
    struct heap *heap = heap_of_class(class, slab->class);
    if (!(slab->purged_free & HEAP_PASSED))
        heap->hollowing.units -= slab->units;
    else if (slab->purged_free & HEAP_SENT)
        heap->hollowing.vain += slab->units;
    if (heap->hollowing.last == slab)
        heap->hollowing.last = slab->previous;
    if (!class->bin[HEAP_BINS - 1])
        heap_note_hollow(heap, slab->class);
}

void heap_unlink(struct heap_class *class, struct slab *slab) {
    ASSERT(P2, slab->bin != HEAP_LENT);
    if (slab->bin == HEAP_NO_BIN)
        return;
    if (slab->next)
        slab->next->previous = slab->previous;
    if (slab->previous)
        slab->previous->next = slab->next;
    else
        class->bin[slab->bin] = slab->next;
    if (slab->bin == HEAP_BINS - 1)
        heap_leave_hollow(class, slab);
    slab_set_bin(slab, HEAP_NO_BIN, 0, 0);
}

static void heap_link(struct heap_class *class, struct slab *slab, unsigned bin) {
    slab->previous = NULL;
    slab->next = class->bin[bin];
    if (slab->next)
        slab->next->previous = slab;
    class->bin[bin] = slab;
    if (bin == HEAP_BINS - 1)
        heap_enter_hollow(class, slab);
}

NOINLINE void heap_file_anew(struct heap_class *class, struct slab *slab) {
    unsigned blocks = slab->blocks, bin = heap_bin_of(slab->free, blocks);
    if (bin != slab->bin) {
        heap_unlink(class, slab);
        if (bin == HEAP_NO_BIN)
            return;
        heap_link(class, slab, bin);
    }
    ASSERT(P2, bin != HEAP_NO_BIN);
    /* Rounded up: the first number of free blocks that is in the bin, and the last that is, or the last with which it is not empty. */
    unsigned least = (bin * blocks + 3) / 4,
             next = bin == HEAP_BINS - 1 ? blocks + 1 : ((bin + 1) * blocks + 3) / 4;
    slab_set_bin(slab, bin, bin == 0 ? 1 : least, next <= slab->carved ? next - 1 : slab->carved - 1u);
    ASSERT(P2, slab->bin_least <= slab->free && (slab->free <= slab->bin_most || slab_is_empty(slab)));
}

void heap_detach(struct heap_class *class, struct slab *slab) {
    struct heap *heap = heap_of_class(class, slab->class);
    if (heap->tidied == slab)
        heap->tidied = NULL;
    if (heap->tidied_partly == slab)
        heap->tidied_partly = NULL;
    heap_unlink(class, slab);
    if (class->carving == slab)
        class->carving = NULL;
    if (class->empty == slab)
        class->empty = NULL;
}

void heap_let_go(struct heap_class *class, struct slab *slab) {
    heap_detach(class, slab);
    slab_delete(&heap_of_class(class, slab->class)->slabs, slab);
}

void heap_lend(struct heap_class *class, struct slab *slab) {
    slab->purged_free &= (uint16_t)~HEAP_SENT; /* it leaves for a while, and nobody needs them */
    heap_detach(class, slab);
    slab_set_bin(slab, HEAP_LENT, 0, slab->blocks);             /* the right one, whatever comes back to it */
    __atomic_store_n(&slab->lent, SLAB_LENT, __ATOMIC_RELAXED); /* inside `visit` */
}

/* A slab that was lent is back. */
static void heap_take_in(struct heap_class *class, struct slab *slab) {
    slab_set_bin(slab, HEAP_NO_BIN, 0, 0);
    if (!class->carving)
        class->carving = slab;
}

static void heap_settle_empty(struct heap_class *class, struct slab *slab) {
    if (slab->bin == HEAP_LENT)
        return;
    bool another = class->empty && class->empty != slab;
    if (another && heap_may_go(heap_of_class(class, slab->class), slab)) {
        heap_let_go(class, slab);
        return;
    }
    class->empty = slab;
    if (slab->bin != heap_bin_of(slab->free, slab->blocks))
        heap_file_anew(class, slab);
}

NOINLINE void heap_settle_anew(struct heap_class *class, struct slab *slab) {
    if (slab_is_empty(slab))
        heap_settle_empty(class, slab);
    else
        heap_file_anew(class, slab);
}

unsigned heap_collect_one(struct heap *heap, unsigned class) {
    struct slab *slab = remote_take(&heap->inbox, class);
    if (!slab)
        return 0;
    if (__atomic_load_n(&slab->owner, __ATOMIC_ACQUIRE) != &heap->inbox) {
        remote_deliver(slab); /* it was adopted while it was on the way */
        return 1;
    }
    struct heap_class *mine = &heap->class[class];
    unsigned before = slab->free, words = remote_collect(slab);
    mine->out -= slab->free - before;
    if (slab->bin == HEAP_LENT && !remote_is_lent(slab))
        heap_take_in(mine, slab);
    heap_settle(mine, slab);
    return words;
}

void heap_collect_class(struct heap *heap, unsigned class) {
    for (unsigned words = 0, moved = 1; moved > 0 && words < HEAP_COLLECT_WORDS; words += moved)
        moved = heap_collect_one(heap, class);
}

bool heap_collect(struct heap *heap) {
    unsigned words = 0, class;
    while (words < HEAP_COLLECT_WORDS && (class = remote_class(&heap->inbox)) < SIZECLASS_COUNT) {
        unsigned moved = heap_collect_one(heap, class);
        words += moved;
        if (moved == 0)
            remote_class_done(&heap->inbox, class);
    }
    return words >= HEAP_COLLECT_WORDS;
}
