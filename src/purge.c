#include "purge.h"

#include "large.h"
#include "lock.h"

#include <limits.h>

enum {
    VISITS_AT_ONCE = 4096, /* of one heap in one look: what is left waits for the next one */
    REACHES_AT_ONCE = 64,  /* threads in one look, 10 to 30 us each */
    PACKED_AT_ONCE = 4,    /* areas in one look of the janitor's, half a millisecond each */
    VISITS_NEAR_LIMIT = 64 /* of all heaps in one call */
};

size_t purge_keep_free = 64 * MIB;
bool purge_within_peak;

static struct {
    struct lock lock;
    struct heap *next; /* near a limit: the heap that the last call was not done with; NULL: done with all */
} purge_visitors = {.lock = LOCK_INITIAL(9)};

/* ---- looks ---- */

/* Empties what the heap's thread has at hand, if it sleeps and `reaches` are left. Under the lock of visitors. */
static void purge_reach(struct heap *heap, bool now, unsigned *reaches, struct purge_looked *looked) {
    enum heap_reached reached = *reaches > 0 ? heap_reach(heap, now) : HEAP_HOLDS_NOTHING;
    if (reached == HEAP_REACHED) {
        looked->reached++;
        *reaches -= 1;
    }
    looked->later |= reached != HEAP_HOLDS_NOTHING;
}

/* `now`, before any heap is tidied: what the one thread has at hand may be the other's. */
static void purge_reach_all(unsigned *reaches, struct purge_looked *looked) {
    for (struct heap *heap = heap_after(NULL); heap; heap = heap_after(heap)) {
        lock_take(&purge_visitors.lock);
        purge_reach(heap, true, reaches, looked);
        lock_release(&purge_visitors.lock);
    }
}

/* Tidies every heap, and empties the magazines of threads that sleep. Notes whether something of them is to go home
 * later. */
static void purge_tidy(bool now, struct purge_looked *looked) {
    unsigned reaches = !heap_can_reach() || !reach_allowed() ? 0 : now ? UINT_MAX : REACHES_AT_ONCE;
    if (now)
        purge_reach_all(&reaches, looked);
    for (struct heap *heap = heap_after(NULL); heap; heap = heap_after(heap)) {
        enum heap_tidied tidied;
        lock_take(&purge_visitors.lock);
        if (!now)
            purge_reach(heap, false, &reaches, looked);
        tidied = !now && heap_is_tidy(heap) ? HEAP_TIDY : HEAP_MORE;
        for (unsigned visit = 0; tidied == HEAP_MORE && visit < VISITS_AT_ONCE; visit++)
            tidied = heap_tidy(heap, now, &looked->bytes);
        looked->later |= large_hand_visit(&heap->hand, now);
        lock_release(&purge_visitors.lock);
        looked->later |= tidied != HEAP_TIDY;
    }
}

/* Gives home what rested since the last look. Returns the bytes. Before slabs are tidied: of a budget of calls this makes more. */
static size_t purge_rested(unsigned calls) {
    return superslab_purge_rested(calls) + large_purge_rested();
}

size_t purge_waiting_bytes(void) {
    return superslab_dirty_bytes() + large_waiting_bytes();
}

struct purge_looked purge_look(void) {
    struct purge_looked looked = {0};
    looked.bytes += purge_rested(UINT_MAX);
    purge_tidy(false, &looked);
    superslab_end_look(); /* with what the tidied slabs have left */
    looked.later |= purge_waiting_bytes() > superslab_staying_bytes();
    looked.later |= superslab_pack(PACKED_AT_ONCE);
    looked.bytes += superslab_shed(false, &looked.later);
    return looked;
}

void purge_look_here(void) {
    size_t bytes = purge_rested(PURGE_ADVICE_AT_ONCE);
    if (heap_own && lock_try(&purge_visitors.lock)) {
        heap_tidy(heap_own, false, &bytes);
        large_hand_visit(&heap_own->hand, false);
        lock_release(&purge_visitors.lock);
    }
    superslab_end_look();
    superslab_pack(1);
}

void purge_collect(void) {
    for (struct heap *heap = heap_after(NULL); heap; heap = heap_after(heap)) {
        bool more = true;
        for (unsigned visit = 0; more && visit < VISITS_AT_ONCE; visit++) {
            lock_take(&purge_visitors.lock);
            more = heap_collect_for(heap);
            lock_release(&purge_visitors.lock);
        }
    }
}

/* ---- at once ---- */

static size_t purge_heaps(void) {
    struct purge_looked looked = {0};
    if (heap_own)
        heap_drain(heap_mine());
    heap_drain_idle();
    purge_tidy(true, &looked);
    return looked.bytes;
}

/* Near a limit, where a round over the heaps begins: with what is at hand. */
static struct heap *purge_first_heap(void) {
    if (heap_own)
        heap_empty(heap_mine());
    heap_empty_idle();
    return heap_after(NULL);
}

/* A part of such a round: until `bytes` have come home, or after VISITS_NEAR_LIMIT. True: the round has ended. */
static bool purge_heaps_for(size_t bytes) {
    bool reaches = heap_can_reach() && reach_allowed();
    size_t purged = 0;
    unsigned visits = 0;
    lock_take(&purge_visitors.lock);
    struct heap *heap = purge_visitors.next ? purge_visitors.next : purge_first_heap();
    while (heap && purged < bytes && visits < VISITS_NEAR_LIMIT) {
        if (reaches && !heap_is_out_of_reach(heap)) /* what is in vain costs as much: it counts, too */
            visits += heap_reach(heap, true) != HEAP_HOLDS_NOTHING;
        if (large_hand_is_used(&heap->hand))
            large_hand_visit(&heap->hand, true), visits++;
        bool more = !heap_is_tidy(heap);
        for (; more && purged < bytes && visits < VISITS_NEAR_LIMIT; visits++)
            more = heap_tidy(heap, true, &purged) == HEAP_MORE;
        if (!more)
            heap = heap_after(heap);
    }
    purge_visitors.next = heap;
    lock_release(&purge_visitors.lock);
    return !heap;
}

static void purge_down_to(size_t keep) {
    superslab_purge(limit_keep(keep, superslab_dirty_bytes()), PURGE_ADVICE_AT_ONCE);
}

/* Of what waits, only what fits is kept; for each LIMIT_STEP of growth heaps give as much, too. */
static COLD void purge_near_limit(void) {
    size_t waiting = large_waiting_bytes();
    large_purge(limit_keep(waiting, waiting), LARGE_GIVE_UP);
    purge_down_to(SIZE_MAX);
    size_t wanted = limit_wants_drain();
    if (wanted == 0)
        return;
    bool all = purge_heaps_for(wanted);
    purge_down_to(SIZE_MAX);
    if (all)
        limit_note_drained();
}

void purge_step(void) {
    size_t keep = purge_keep_free / 4 * 3, below_peak = purge_within_peak ? superslab_below_peak_bytes() : 0;
    purge_down_to(keep > below_peak ? keep : below_peak);
    if (limit_near())
        purge_near_limit();
}

size_t purge_all(void) {
    bool later = false;
    limit_lift_budget(true);
    size_t bytes = purge_heaps();
    bytes += large_purge(0, UINT_MAX); /* first: its runs become dirty units */
    bytes += superslab_purge(0, UINT_MAX);
    bytes += superslab_shed(true, &later);
    limit_lift_budget(false);
    return bytes;
}

size_t purge_for_space(void) {
    limit_lift_budget(true);
    size_t bytes = purge_heaps() + large_purge(0, UINT_MAX);
    bytes += superslab_unmap_free();
    bytes += superslab_purge(0, UINT_MAX);
    limit_lift_budget(false);
    return bytes;
}

void purge_lock(bool take) {
    if (take)
        lock_take(&purge_visitors.lock);
    else
        lock_release(&purge_visitors.lock);
}
