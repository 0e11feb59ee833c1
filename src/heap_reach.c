/* Threads and their heaps: who has which, and how a visitor empties the magazines of a thread that sleeps. */
#include "heap_parts.h"

#include "favour.h"
#include "os.h"

THREAD_LOCAL struct heap *heap_own, *heap_watched;

/* The word of the calling thread that visitors store to. */
static struct heap **heap_word(void) {
    return heaps.watch ? &heap_watched : &heap_current.heap;
}

void heap_move_in(struct heap *heap) {
    heap_own = heap;
    favour_seat = &heap->hand.seat;
    heap_current.tag = heaps.watch ? HEAP_NO_TAG : heap->tag;
    __atomic_store_n(heap_word(), heap, __ATOMIC_RELAXED);
}

static void heap_found_thread(struct heap *heap) {
    heap->current = heap_word();
    heap_count_threads(1);
}

void heap_make_reachable(struct heap *heap) {
    visit_enter(&heap->visit);
    if (reach_describe(&heap->thread, &heap_current))
        heap_found_thread(heap);
    visit_leave(&heap->visit);
}

static void heap_forget_thread(struct heap *heap) {
    if (heap->current)
        heap_count_threads(-1);
    heap->current = NULL;
    __atomic_store_n(&heap->thread.number, 0, __ATOMIC_RELAXED);
}

struct heap *heap_move_out(void) {
    struct heap *heap = heap_own;
    if (!heap)
        return NULL;
    visit_enter(&heap->visit);
    heap_forget_thread(heap);
    heap_own = NULL;
    favour_seat = NULL; /* the next thread of this heap sits there */
    heap_current.tag = HEAP_NO_TAG;
    __atomic_store_n(&heap_current.heap, &heap_none, __ATOMIC_RELAXED);
    __atomic_store_n(&heap_watched, NULL, __ATOMIC_RELAXED);
    visit_leave(&heap->visit);
    return heap;
}

/* The first call of a forked process. Whatever it writes to in the pages that it shares with its parent is copied, a page
 * each: it leaves the blocks that are free there alone, and takes its own side by side.
 * docs/experiments/heaps-after-fork.md */
static struct heap *heap_leave_inherited(void) {
    struct heap *inherited = heap_own, *fresh = heap_take_fresh();
    if (!fresh) {
        heap_move_in(inherited);
        return inherited;
    }
    bool reachable = inherited->current != NULL;
    heap_set_aside(heap_move_out());
    heap_move_in(fresh);
    if (reachable) {
        visit_enter(&fresh->visit);
        reach_describe_forked(&fresh->thread, &inherited->thread);
        heap_found_thread(fresh);
        visit_leave(&fresh->visit);
    }
    return fresh;
}

COLD struct heap *heap_await_visitor(void) {
    struct heap *heap = heap_own;
    visit_enter(&heap->visit);
    bool forked = __atomic_load_n(heap_word(), __ATOMIC_RELAXED) == &heap_none;
    visit_leave(&heap->visit);
    return forked ? heap_leave_inherited() : heap;
}

/* ---- fork ---- */

void heap_in_child(void) {
    unsigned hands = 0;
    for (struct heap *heap = heap_after(NULL); heap; heap = heap_after(heap)) {
        if (heap->current && heap != heap_own)
            heap_forget_thread(heap);
        hands += large_hand_in_child(&heap->hand);
    }
    large_hands_in_child(hands);
    heaps.lost = heaps.count - heaps.idle_count - (heap_own != NULL);
    if (!heap_own)
        return;
    if (heap_own->current) /* it is still known that it can be reached, but not any more where */
        __atomic_store_n(&heap_own->thread.number, 0, __ATOMIC_RELAXED);
    __atomic_store_n(heap_word(), &heap_none, __ATOMIC_RELAXED);
}

/* ---- watched threads ---- */

void heap_watch(void) {
    heaps.watch = true;
    if (!heap_own) /* the first call of the process may have needed memory itself */
        return;
    __atomic_store_n(&heap_current.heap, &heap_none, __ATOMIC_RELAXED);
    heap_move_in(heap_own);
    if (heap_own->current)
        heap_own->current = heap_word();
}

/* What the call loads from heap_current until the end is what it has loaded here, once, from the word that visitors know. */
void heap_watch_begin(void) {
    struct heap *heap = __atomic_load_n(&heap_watched, __ATOMIC_RELAXED); /* as heap_load */
    if (UNLIKELY(heap == &heap_none))
        heap = heap_await_visitor();
    heap_current.tag = heap->tag;
    __atomic_store_n(&heap_current.heap, heap, __ATOMIC_RELAXED);
}

void heap_watch_end(void) {
    heap_current.tag = HEAP_NO_TAG;
    __atomic_store_n(&heap_current.heap, &heap_none, __ATOMIC_RELAXED);
}

/* ---- the visitor ---- */

/* What the thread has at hand, in one word that changes when it takes or frees a block. It may run meanwhile: a guess. */
static uint64_t reach_glance(const struct heap *heap, bool *holds) {
    uint64_t state = 0;
    const struct outbox *outbox = __atomic_load_n(&heap->outbox, __ATOMIC_RELAXED);
    size_t posted = outbox ? __atomic_load_n(&outbox->count, __ATOMIC_RELAXED) : 0;
    uint32_t left = __atomic_load_n(&heap->marks.left, __ATOMIC_RELAXED);
    bool marked = __atomic_load_n(&heap->marks.slab, __ATOMIC_RELAXED) != NULL;
    state ^= marked ? left : 0;
    *holds = posted > 0 || marked;
    for (unsigned class = 0; class < SIZECLASS_COUNT; class ++) {
        const struct heap_class *mine = &heap->class[class];
        uintptr_t top = (uintptr_t)__atomic_load_n(&heap->top[class], __ATOMIC_RELAXED);
        void **array = __atomic_load_n(&mine->array, __ATOMIC_RELAXED);
        state = (state ^ top) * 0x9e3779b97f4a7c15u;
        state ^= state >> 32;
        *holds |= array && (top != (uintptr_t)&array[__atomic_load_n(&mine->sentinel, __ATOMIC_RELAXED)] ||
                            __atomic_load_n(&mine->spare_count, __ATOMIC_RELAXED) > 0);
    }
    return state ^ posted;
}

/* Inside `visit`. What comes between the two stores is one look at a sleeping thread and at most all its magazines. */
static enum reach_found reach_sleeper(struct heap *heap) {
    struct reach reach;
    enum reach_found found = reach_begin(&reach, &heap->thread);
    if (found == REACH_ASLEEP) {
        ASSERT(P6, __atomic_load_n(heap->current, __ATOMIC_RELAXED) == heap);
        /* Before the thread is looked at again; pairs with heap_load. */
        __atomic_store_n(heap->current, &heap_none, __ATOMIC_SEQ_CST);
        found = reach_confirm(&reach);
        if (found == REACH_ASLEEP)
            heap_drain_magazines(
                heap); /* in its stead: it is outside of this library, and its next call waits */
        /* Release: emptied magazines; pairs with heap_load, by the address. */
        __atomic_store_n(heap->current, heap, __ATOMIC_RELEASE);
    }
    reach_end(&reach);
    return found;
}

enum heap_reached heap_reach(struct heap *heap, bool now) {
    bool holds;
    if (heap == heap_own || __atomic_load_n(&heap->thread.number, __ATOMIC_RELAXED) == 0)
        return HEAP_HOLDS_NOTHING;
    uint64_t glance = reach_glance(heap, &holds);
    bool rests = glance == heap->glance;
    heap->glance = glance;
    heap->out_of_reach &= rests && !now;
    if (!holds || heap->out_of_reach)
        return HEAP_HOLDS_NOTHING;
    if ((!rests && !now) || !visit_begin(&heap->visit))
        return HEAP_HOLDS;
    enum reach_found found = heap->current ? reach_sleeper(heap) : REACH_RUNS;
    visit_end(&heap->visit);
    heap->out_of_reach = found == REACH_BUSY;
    return found == REACH_ASLEEP ? HEAP_REACHED : HEAP_HOLDS;
}

bool heap_is_out_of_reach(const struct heap *heap) {
    bool holds;
    return heap->out_of_reach && reach_glance(heap, &holds) == heap->glance;
}
