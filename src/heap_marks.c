/* Long runs of frees: the blocks of one slab are marked, while most of what is freed lies in it; then those of the next.
 * docs/experiments/marks.md */
#include "heap_parts.h"

enum {
    MARKED_LARGEST = 1024, /* bytes of a block: a slab of larger ones is through too soon */
    MARKED_FROM = 1024,    /* blocks of the class that are out: towards the end no slab is held for marks */
    MARKED_LEAST = 32,     /* blocks of a slab that are not back yet */
    STRAY_COST = 16,       /* blocks that must be marked for one that comes from another slab */
    WORD_COST = 2,         /* and for each word that a change to another slab looks at */
    CREDIT_FIRST = 128,
    CREDIT_MOST = 1024,
    OTHERS_SHARE = 4, /* of the slab's blocks: so many of other classes may come while they are marked */
    MIXED_MOST =
        8 /* after so many runs that others came between, 2^8 bursts pass until the next one is tried */
};

/* Inside `visit`. Returns how many blocks that were. */
static unsigned heap_collect_marks(struct heap *heap) {
    struct slab *slab = heap->marks.slab;
    if (!slab)
        return 0;
    struct heap_class *mine = &heap->class[slab->class];
    unsigned back = marks_collect(&heap->marks);
    mine->out -= back;
    heap->flushes++;
    heap->flushed += (uint64_t)back * sizeclass_table[slab->class].size;
    heap->credit = heap->credit + (int32_t)back < CREDIT_MOST ? heap->credit + (int32_t)back : CREDIT_MOST;
    heap_count_work(heap);
    heap_settle(mine, slab);
    return back;
}

void heap_stop_marking(struct heap *heap) {
    unsigned class = heap->marking;
    heap_collect_marks(heap);
    heap->marking = SIZECLASS_COUNT;
    heap_rewind(heap, class, heap_sentinel(&heap->class[class]));
}

void heap_marked_all(struct heap *heap) {
    visit_enter(&heap->visit);
    unsigned back = heap_collect_marks(heap);
    visit_leave(&heap->visit);
    heap->mixed = 0;
    heap_count_full(heap, back);
}

/* Inside `visit`. */
static bool heap_mark_slab(struct heap *heap, struct slab *slab) {
    bool worth = slab && slab->bin != HEAP_LENT && slab->carved - slab->free >= MARKED_LEAST &&
                 heap->class[slab->class].out >= MARKED_FROM;
    heap->strayed = NULL;
    heap->others = 0;
    if (!worth || (heap->shallow && !heap->marks.bytes))
        return false;
    heap->shallow = !marks_begin(&heap->marks, slab) || heap->shallow;
    return heap->marks.slab != NULL;
}

bool heap_marks_another(struct heap *heap, unsigned blocks) {
    visit_enter(&heap->visit);
    const struct slab *slab = heap->marks.slab;
    bool goes_on = heap->marking < SIZECLASS_COUNT && heap->marks.left != heap->seen;
    heap->seen = heap->marks.left;
    heap->others += blocks;
    if (goes_on && slab && heap->others > slab->carved / OTHERS_SHARE) {
        heap->mixed += heap->mixed < MIXED_MOST;
        heap->resting = (uint16_t)(1u << heap->mixed);
        heap_stop_marking(heap);
    }
    visit_leave(&heap->visit);
    return goes_on;
}

void heap_start_marking(struct heap *heap, unsigned class, const void *last) {
    struct heap_class *mine = &heap->class[class];
    if (sizeclass_table[class].size > MARKED_LARGEST)
        return;
    if (heap->resting > 0) {
        heap->resting--;
        return;
    }
    visit_enter(&heap->visit);
    if (heap->marking < SIZECLASS_COUNT)
        heap_stop_marking(heap);
    if (heap_mark_slab(heap, pagemap_record_tagged(last, heap->tag | class))) {
        heap->marking = (uint8_t) class;
        heap->credit = CREDIT_FIRST;
        heap_rewind(heap, class, heap_sentinel_full(mine));
    }
    visit_leave(&heap->visit);
}

/* A block of another slab, or one that may not be freed, goes back alone; after the second one of the same slab in a row, or when all
 * of the last slab was back, that slab is marked. False: too many of them have come. Inside `visit`. */
static bool heap_stray(struct heap *heap, unsigned class, void *block) {
    struct slab *slab = pagemap_record_tagged(block, heap->tag | class);
    bool next = !heap->marks.slab || (slab == heap->strayed && heap->marks.left == heap->strayed_left);
    heap->credit -= STRAY_COST;
    if (heap->credit >= 0 && !next) {
        heap->strayed = slab;
        heap->strayed_left = heap->marks.left;
        heap_put_back(heap, class, &block, 1);
        return true;
    }
    heap->credit -= heap->marks.slab ? WORD_COST * (int32_t)heap->marks.words : 0;
    heap_collect_marks(heap);
    if (heap->credit < 0)
        return false;
    /* Anew: if it was the one that was marked, it may have gone. */
    slab = pagemap_record_tagged(block, heap->tag | class);
    return heap_mark_slab(heap, slab) && marks_add(&heap->marks, block) == MARKS_TAKEN;
}

bool heap_mark(struct heap *heap, unsigned class, void *block) {
    enum marks_found found = marks_add(&heap->marks, block);
    if (found == MARKS_LAST)
        heap_marked_all(heap);
    if (found != MARKS_ELSEWHERE)
        return true;
    visit_enter(&heap->visit);
    bool dealt = heap_stray(heap, class, block);
    if (!dealt)
        heap_stop_marking(heap);
    unsigned out = heap->class[class].out;
    visit_leave(&heap->visit);
    if (!dealt)
        heap_shorten(heap, class, out);
    return dealt;
}
