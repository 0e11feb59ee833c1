/* Slabs of which three quarters are free, while the heap grows: their free pages go home, so that what new slabs take does not come on top.
 * By the heap's thread; where it does not grow, the visitor's half (heap_tidy.c) does that. docs/experiments/hollow-slabs.md */
#include "heap_parts.h"

#include "os.h"

#define HOLLOW_RUN (16 * KIB) /* bytes that are worth a call */

enum {
    HOLLOW_LOOKED_AT = 64, /* slabs in one call ... */
    HOLLOW_SLABS = 8,      /* ... of which so many give their pages */
    HOLLOW_STEP = 4 << 20, /* bytes of growth, of all heaps, in which one that rests does not change; */
    HOLLOW_BACKOFF = 4,    /* ... so many times as much where pages went in vain */
    HOLLOW_LEAST = 16,     /* units that may go in a round, */
    HOLLOW_MOST = 1 << 14, /* ... twice as many in the next one, ... */
    HOLLOW_VAIN = 8,       /* ... unless this part of what went was needed again */
    HOLLOW_PART = 4        /* of what is in use, at least, before any does */
};

/* Bytes of its free pages that are worth a call each. */
static size_t hollow_bytes(struct slab *slab) {
    struct slab_pages pages;
    size_t bytes = 0;
    unsigned from = 0;
    while (slab_find_pages(slab, &from, os_page_size(), &pages))
        bytes += pages.bytes >= HOLLOW_RUN ? pages.bytes : 0;
    return bytes;
}

/* The slab is as it was in the last round, and most of its pages could go. Notes how it is. */
static bool hollow_rests(struct heap *heap, struct slab *slab) {
    bool rests = slab->seen_changes == slab->changes;
    slab->seen_changes = slab->changes;
    if (!rests)
        return false;
    heap->hollowing.units -= slab->units;
    slab->purged_free |= HEAP_PASSED;
    return !heap_is_home(slab) && hollow_bytes(slab) >= (size_t)slab->units * UNIT_SIZE / 2;
}

/* Its free pages go home. Returns their bytes. */
static size_t hollow_send(struct hollowing *hollowing, struct slab *slab) {
    struct slab_pages pages;
    size_t gone = 0;
    unsigned from = 0;
    slab->purged_free |= HEAP_SENT;
    hollowing->sent += slab->units;
    hollowing->left -= slab->units < hollowing->left ? slab->units : hollowing->left;
    while (limit_budget_left()) {
        if (!slab_find_pages(slab, &from, os_page_size(), &pages)) {
            heap_note_home(slab, slab->free);
            break;
        }
        limit_may_purge(); /* a piece of advice each */
        gone += superslab_decommit(slab->home, pages.start, pages.bytes) ? pages.bytes : 0;
    }
    return gone;
}

/* The next one in turn; NULL: there is no more of its class. */
static struct slab *hollow_next(struct heap *heap) {
    struct hollowing *hollowing = &heap->hollowing;
    const struct slab *last = hollowing->last;
    return hollowing->last = last ? last->next : heap->class[hollowing->class].bin[HEAP_BINS - 1];
}

/* All were looked at, or as many as may go went: more may in the next round, but for where much was needed again. */
static void hollow_end_round(struct hollowing *hollowing) {
    bool vain = HOLLOW_VAIN * hollowing->vain > hollowing->sent;
    uint32_t most = vain ? hollowing->most / HOLLOW_BACKOFF : 2 * hollowing->most;
    hollowing->most = most < HOLLOW_LEAST ? HOLLOW_LEAST : most > HOLLOW_MOST ? HOLLOW_MOST : most;
    hollowing->left = hollowing->most;
    hollowing->sent /= 2;
    hollowing->vain /= 2;
    hollowing->wait = (vain ? HOLLOW_BACKOFF * HOLLOW_STEP : HOLLOW_STEP) / heap_in_use();
}

/* The next class's turn. False: they have all been through. */
static bool hollow_next_class(struct hollowing *hollowing) {
    hollowing->class = (uint8_t)((hollowing->class + 1) % SIZECLASS_COUNT);
    return hollowing->class != 0;
}

/* Whether there are too many, if the other heaps in use have as many. */
static bool hollow_is_much(const struct heap *heap) {
    size_t bytes = heap->hollowing.units * UNIT_SIZE * heap_in_use();
    return bytes > heaps.hollow_from && bytes > superslab_used_bytes() / HOLLOW_PART;
}

COLD void heap_hollow_out(struct heap *heap, size_t grown) {
    struct hollowing *hollowing = &heap->hollowing;
    if (!hollow_is_much(heap))
        return;
    if (hollowing->wait > grown) {
        hollowing->wait -= grown;
        return;
    }
    hollowing->wait = 0;
    size_t gone = 0;
    bool more = hollowing->left > 0;
    for (unsigned looked = 0, sent = 0;
         more && looked < HOLLOW_LOOKED_AT && sent < HOLLOW_SLABS && gone < 2 * grown; looked++) {
        if (!hollow_is_much(heap) || !limit_budget_left())
            return;
        struct slab *slab = hollow_next(heap);
        if (slab && !(slab->purged_free & HEAP_PASSED) && hollow_rests(heap, slab)) {
            gone += hollow_send(hollowing, slab);
            sent++;
        }
        more = hollowing->left > 0 && (slab || hollow_next_class(hollowing));
    }
    if (!more)
        hollow_end_round(hollowing);
}
