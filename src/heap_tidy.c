/* The visitor's half of heap: what can be given home while the heap's thread sleeps, or works on something else. */
#include "heap.h"

#include "os.h"

enum {
    TIDY_SLABS = 256,          /* slabs looked at in one visit */
    TIDY_CLAIMS = SLAB_CLAIMS, /* runs of pages given home after one visit */
    TIDY_COLLECT = 2           /* times the inbox is asked in one visit */
};

struct tidying {
    struct heap *heap;
    bool now;
    size_t page;
    unsigned looked, claims;
    struct slab_claim claim[TIDY_CLAIMS];
};

/* True when the slab is as it was at the last visit, and something in it is not home yet. Notes how it is. */
static bool tidy_wants(struct tidying *tidying, struct slab *slab) {
    bool rests = slab->seen_changes == slab->changes;
    bool done = slab->purged_changes == slab->changes && slab->free <= slab->purged_free;
    slab->seen_changes = slab->changes;
    if (!rests && !done)
        tidying->heap->tidied_unsettled = true;
    return (rests || tidying->now) && !done;
}

/* Claims all whole free pages of the slab; false when there is no place for more claims. */
static bool tidy_claim(struct tidying *tidying, struct slab *slab) {
    unsigned from = 0, free = slab->free;
    while (tidying->claims < TIDY_CLAIMS && limit_budget_left()) {
        struct slab_claim *claim = &tidying->claim[tidying->claims];
        if (!slab_claim_pages(slab, from, tidying->page, claim)) {
            slab->purged_changes = slab->changes;
            slab->purged_free = (uint16_t)free; /* what it will be when the claims are back */
            return true;
        }
        from = claim->first + claim->count;
        tidying->claims++;
        limit_may_purge(); /* a piece of advice each: with the budget's last one this visit ends */
    }
    return false;
}

/* Goes through a bin from where the last visit stopped. False: this visit has done its part. */
static bool tidy_bin(struct tidying *tidying, unsigned class, unsigned bin) {
    struct heap *heap = tidying->heap;
    struct heap_class *mine = &heap->class[class];
    struct slab *last = heap->tidied, *slab = mine->bin[bin];
    if (last && last->owner == &heap->inbox && last->bin == bin && last->class == class)
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
        if (slab_is_empty(slab) && !remote_is_on_its_way(slab)) {
            heap->tidied = previous;
            heap_let_go(mine, slab);
            continue;
        }
        unsigned before = slab->free;
        bool all = tidy_claim(tidying, slab);
        mine->out += before - slab->free;
        if (mine->empty == slab)
            mine->empty = NULL;
        heap_file(mine, slab);
        if (!all || slab->bin != bin) /* go on with it, or with what stood behind it */
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

enum heap_tidied heap_tidy(struct heap *heap, bool now, size_t *purged) {
    struct tidying tidying = {.heap = heap, .now = now, .page = os_page_size()};
    enum heap_tidied result = HEAP_MORE;
    if (!limit_budget_left() || !tidy_enter(heap))
        return HEAP_UNSETTLED;
    unsigned times = 0;
    while (times < TIDY_COLLECT && heap_collect(heap))
        times++;
    bool through = heap_unpack_rested(heap, now) && times < TIDY_COLLECT && tidy_slabs(&tidying);
    /* The claims come back through the inbox; packs may rest until the next look. */
    heap->tidied_unsettled |= tidying.claims > 0 || heap->packs.count > 0;
    if (through) {
        result = heap->tidied_unsettled ? HEAP_UNSETTLED : HEAP_TIDY;
        heap->tidied_unsettled = false;
    }
    heap->tidy_since = result == HEAP_TIDY ? heap->work : UINT64_MAX;
    tidy_leave(heap);
    for (unsigned i = 0; i < tidying.claims; i++) {
        size_t bytes;
        unsigned char *pages = slab_claimed_pages(&tidying.claim[i], tidying.page, &bytes);
        *purged += superslab_decommit(pages, bytes) ? bytes : 0;
        remote_unclaim(&tidying.claim[i]);
    }
    return result;
}
