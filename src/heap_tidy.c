/* The visitor's half of heap: what can be given home while the heap's thread sleeps, or works on something else. */
#include "heap_parts.h"

#include "os.h"

enum {
    TIDY_SLABS = 256,    /* slabs looked at in one visit */
    TIDY_PAGES = 64,     /* runs of pages given home after one visit */
    TIDY_COLLECT = 2,    /* times the inbox is asked in one visit, ... */
    COLLECT = 8,         /* ... and in one that does nothing else */
    TIDY_STAYS = 1 << 15 /* in purged_free: a look leaves these free blocks where they are */
};

_Static_assert(UNIT_SIZE / SIZECLASS_GRANULE < HEAP_SENT, "more than the blocks of a slab");

struct tidying {
    struct heap *heap;
    bool now;
    size_t page;
    unsigned looked, found;
    struct slab_pages pages[TIDY_PAGES]; /* those of one slab lie together */
};

/* True when the slab is as it was at the last visit, and something in it is not home yet. Notes how it is. */
static bool tidy_wants(struct tidying *tidying, struct slab *slab) {
    bool rests = slab->seen_changes == slab->changes;
    bool stays = slab->purged_free & TIDY_STAYS;
    bool done = heap_is_home(slab) && !(stays && tidying->now);
    slab->seen_changes = slab->changes;
    if (!rests && !done)
        tidying->heap->tidied_unsettled = true;
    return (rests || tidying->now) && !done;
}

/* True when too much of the slab is in use to split a huge page for the whole pages that are free. */
static bool tidy_leaves(const struct tidying *tidying, struct slab *slab) {
    size_t bytes = (size_t)slab->units * UNIT_SIZE, free = 0;
    struct slab_pages pages;
    unsigned from = 0;
    if (tidying->now || superslab_lets_go(slab->home, slab_unit(slab), bytes, 0))
        return false;
    while (slab_find_pages(slab, &from, tidying->page, &pages))
        free += pages.bytes;
    return !superslab_lets_go(slab->home, slab_unit(slab), bytes, free);
}

/* Takes the slab along if it has whole free pages, from block `from` on; it had `free` blocks when it was looked at from the first
 * one on. False: not all of them, there is no place for more; then a later visit goes on with it. */
static bool tidy_take(struct tidying *tidying, struct slab *slab, unsigned from, uint16_t free) {
    struct heap *heap = tidying->heap;
    while (tidying->found < TIDY_PAGES && limit_budget_left()) {
        if (!slab_find_pages(slab, &from, tidying->page, &tidying->pages[tidying->found])) {
            heap_note_home(slab, free);
            return true;
        }
        if (slab->bin != HEAP_LENT)
            heap_lend(&heap->class[slab->class], slab);
        tidying->found++;
        limit_may_purge(); /* a piece of advice each: with the budget's last one this visit ends */
    }
    heap->tidied_partly = slab;
    heap->tidied_changes = slab->changes;
    heap->tidied_free = free;
    heap->tidied_from = (uint16_t)from;
    return false;
}

/* What the last visits left of a slab, unless blocks of it were taken meanwhile: with a small budget none would ever get beyond its
 * first pages. What others have freed before that is for another visit. False: this visit has done its part. */
static bool tidy_go_on(struct tidying *tidying) {
    struct heap *heap = tidying->heap;
    struct slab *slab = heap->tidied_partly;
    heap->tidied_partly = NULL;
    bool here = slab && slab->bin < HEAP_BINS;
    bool rests = here && slab->changes == heap->tidied_changes;
    return !rests || tidy_take(tidying, slab, heap->tidied_from, heap->tidied_free);
}

/* Goes through a bin from where the last visit stopped. False: this visit has done its part. */
static bool tidy_bin(struct tidying *tidying, unsigned class, unsigned bin) {
    struct heap *heap = tidying->heap;
    struct heap_class *mine = &heap->class[class];
    struct slab *last = heap->tidied, *slab = mine->bin[bin];
    if (last && last->bin == bin && last->class == class)
        slab = last->next;
    heap->tidied = NULL;
    for (struct slab *next; slab; slab = next) {
        if (tidying->looked++ == TIDY_SLABS)
            return false;
        next = slab->next;
        heap->tidied = slab;
        if (!tidy_wants(tidying, slab))
            continue;
        struct slab *previous = slab->previous;
        if (heap_may_go(heap, slab)) {
            heap->tidied = previous;
            heap_let_go(mine, slab);
            continue;
        }
        if (tidy_leaves(tidying, slab)) {
            heap_note_home(slab, slab->free | TIDY_STAYS);
            continue;
        }
        bool all = tidy_take(tidying, slab, 0, slab->free);
        if (slab->bin != bin) /* go on with what stood behind it */
            heap->tidied = previous;
        if (!all)
            return false;
    }
    heap->tidied = NULL;
    return true;
}

static bool tidy_slabs(struct tidying *tidying) {
    struct heap *heap = tidying->heap;
    for (; heap->tidied_class < SIZECLASS_COUNT; heap->tidied_class++, heap->tidied_bin = 0)
        for (; heap->tidied_bin < HEAP_BINS; heap->tidied_bin++)
            if (!tidy_bin(tidying, heap->tidied_class, heap->tidied_bin))
                return false;
    heap->tidied_class = heap->tidied_bin = 0;
    return true;
}

bool heap_is_tidy(const struct heap *heap) {
    return heap->tidy_since == __atomic_load_n(&heap->work, __ATOMIC_RELAXED) && !remote_waits(&heap->inbox);
}

/* A thread that looks after its own heap is no visitor: it needs no barrier, which a filter may forbid. */
static bool tidy_enter(struct heap *heap) {
    if (heap != heap_own)
        return visit_begin(&heap->visit);
    visit_enter(&heap->visit);
    return true;
}

static void tidy_leave(struct heap *heap) {
    if (heap != heap_own)
        visit_end(&heap->visit);
    else
        visit_leave(&heap->visit);
}

/* True: there may be more. */
static bool tidy_collect(struct heap *heap, unsigned times) {
    bool more = true;
    for (; more && times > 0; times--)
        more = heap_collect(heap);
    return more;
}

enum heap_tidied heap_tidy(struct heap *heap, bool now, size_t *purged) {
    struct tidying tidying = {.heap = heap, .now = now, .page = os_page_size()};
    enum heap_tidied result = HEAP_MORE;
    if (!limit_budget_left() || !tidy_enter(heap))
        return HEAP_UNSETTLED;
    bool at_hand = slab_hand_rest(heap->slabs, now);
    bool more = tidy_collect(heap, TIDY_COLLECT);
    bool through = heap_unpack_rested(heap, now) && !more && tidy_go_on(&tidying) && tidy_slabs(&tidying);
    /* What was lent comes back through the inbox; packs may rest until the next look. */
    heap->tidied_unsettled |= tidying.found > 0 || heap->packs.count > 0 || at_hand;
    if (through) {
        result = heap->tidied_unsettled ? HEAP_UNSETTLED : HEAP_TIDY;
        heap->tidied_unsettled = false;
    }
    heap->tidy_since = result == HEAP_TIDY ? heap->work : UINT64_MAX;
    tidy_leave(heap);
    for (unsigned i = 0; i < tidying.found; i++) {
        const struct slab_pages *pages = &tidying.pages[i];
        *purged += superslab_decommit(pages->slab->home, pages->start, pages->bytes) ? pages->bytes : 0;
        if (i + 1 == tidying.found || pages[1].slab != pages->slab)
            remote_return(pages->slab);
    }
    return result;
}

bool heap_collect_for(struct heap *heap) {
    if (!remote_waits(&heap->inbox) || !visit_begin(&heap->visit))
        return false;
    bool more = tidy_collect(heap, COLLECT);
    visit_end(&heap->visit);
    return more;
}
