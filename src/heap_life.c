/* Heaps come and go. */
#include "heap_parts.h"

#include "metadata.h"
#include "os.h"

#include <limits.h>

enum {
    IDLE_WARM = 4,          /* idle heaps that keep empty slabs for the next thread ... */
    WARM_LARGEST = 4 << 20, /* ... bytes of them at most */
    INHERITED_MOST = 8,     /* heaps that a line of forked processes leaves behind */
    HEAPS_LARGEST = (1 << 24) - 2
};

struct heaps heaps = {.lock = LOCK_INITIAL(8), .prewarm = 8};

/* Lets empty slabs go, but for those of the smallest classes that together have at most `keep` units. */
static void heap_let_empties_go(struct heap *heap, unsigned keep) {
    for (unsigned class = 0; class < SIZECLASS_COUNT; class ++) {
        struct slab *empty = heap->class[class].empty;
        if (!empty || !heap_may_go(heap, empty))
            continue;
        if (empty->units <= keep)
            keep -= empty->units;
        else
            heap_let_go(&heap->class[class], empty);
    }
}

static void heap_drain_but(struct heap *heap, unsigned keep) {
    visit_enter(&heap->visit);
    heap_unpack(heap, UINT_MAX);
    heap_drain_magazines(heap);
    while (heap_collect(heap))
        ;
    heap_let_empties_go(heap, keep);
    slab_hand_empty(heap->slabs);
    visit_leave(&heap->visit);
}

void heap_drain(struct heap *heap) {
    heap_drain_but(heap, 0);
}

static struct heap *heap_new(void) {
    if (heaps.count == HEAPS_LARGEST)
        return NULL;
    struct heap *heap = metadata_new(sizeof(struct heap));
    if (!heap)
        return NULL;
    __atomic_store_n(&heaps.count, heaps.count + 1, __ATOMIC_RELAXED); /* read by heap_in_use */
    heap->tag = heaps.count << 8;
    for (unsigned class = 0; class < SIZECLASS_COUNT; class ++)
        heap->top[class] = heap_none.top[class];
    heap->marking = SIZECLASS_COUNT;
    heap->next = heaps.all;
    __atomic_store_n(&heaps.all, heap, __ATOMIC_RELEASE); /* pairs with heap_after */
    return heap;
}

/* Where the next one to be taken stands. A fresh one shares nothing with a parent: one whose thread has ended will do. Passes
 * INHERITED_MOST at most. */
static struct heap **heap_next_idle(bool fresh) {
    struct heap **place = &heaps.idle;
    while (fresh && heaps.inherited < INHERITED_MOST && *place && (*place)->inherited)
        place = &(*place)->next_idle;
    return place;
}

static struct heap *heap_take_one(bool fresh) {
    lock_take(&heaps.lock);
    struct heap **place = heap_next_idle(fresh), *heap = *place;
    if (heap) {
        *place = heap->next_idle;
        __atomic_store_n(&heaps.idle_count, heaps.idle_count - 1, __ATOMIC_RELAXED);
        heaps.inherited -= heap->inherited;
        heap->idle = heap->inherited = false;
    } else {
        heap = heap_new();
    }
    lock_release(&heaps.lock);
    return heap;
}

struct heap *heap_take(void) {
    return heap_take_one(false);
}

struct heap *heap_take_fresh(void) {
    return heap_take_one(true);
}

static void heap_put_idle(struct heap *heap, bool inherited) {
    lock_take(&heaps.lock);
    heap->idle = true;
    heap->inherited = inherited;
    heaps.inherited += inherited;
    heap->next_idle = heaps.idle;
    heaps.idle = heap;
    __atomic_store_n(&heaps.idle_count, heaps.idle_count + 1, __ATOMIC_RELAXED);
    lock_release(&heaps.lock);
}

void heap_set_aside(struct heap *heap) {
    heap_send(heap);
    visit_enter(&heap->visit);
    slab_hand_empty(heap->slabs);
    visit_leave(&heap->visit);
    heap_put_idle(heap, true);
}

/* A few idle heaps keep their empty slabs: the next thread then uses the very pages that this one did, where slabs that
 * went home would come back as those of other classes, and touch more. docs/experiments/peak-rss.md */
void heap_retire(struct heap *heap) {
    bool few = __atomic_load_n(&heaps.idle_count, __ATOMIC_RELAXED) < IDLE_WARM; /* a hint */
    heap_drain_but(heap, few ? heaps.warm_units : 0);
    heap_end_hosting(heap);
    heap->mixed = 0; /* the next thread has other ways */
    heap->resting = 0;
    if (heap->waves)
        heap_forget_waves(heap);
    heap_put_idle(heap, false);
}

void heap_drain_idle(void) {
    lock_take(&heaps.lock);
    for (struct heap *heap = heaps.idle; heap; heap = heap->next_idle)
        heap_drain(heap);
    lock_release(&heaps.lock);
}

void heap_empty(struct heap *heap) {
    visit_enter(&heap->visit);
    heap_drain_magazines(heap);
    visit_leave(&heap->visit);
}

void heap_empty_idle(void) {
    lock_take(&heaps.lock);
    for (struct heap *heap = heaps.idle; heap; heap = heap->next_idle)
        if (heap->inherited)
            heap_empty(heap);
    lock_release(&heaps.lock);
}

unsigned heap_in_use(void) {
    unsigned count = __atomic_load_n(&heaps.count, __ATOMIC_RELAXED),
             idle = __atomic_load_n(&heaps.idle_count, __ATOMIC_RELAXED) + heaps.lost; /* a hint */
    return count > idle ? count - idle : 1;
}

void heap_count_threads(int more) {
    __atomic_fetch_add(&heaps.threads, (uint32_t)more, __ATOMIC_RELAXED);
}

bool heap_can_reach(void) {
    return __atomic_load_n(&heaps.threads, __ATOMIC_RELAXED) > 1 && reach_possible();
}

struct heap *heap_after(const struct heap *heap) {
    return heap ? heap->next : __atomic_load_n(&heaps.all, __ATOMIC_ACQUIRE); /* pairs with heap_new */
}

void heap_configure(unsigned prewarm, size_t warm, size_t packs, bool populate) {
    heaps.prewarm = prewarm;
    heaps.populate = populate;
    pack_configure(packs);
    heaps.hollow_from = packs / 2;
    heaps.warm_units = warm < WARM_LARGEST ? (uint32_t)(warm >> UNIT_SHIFT) : WARM_LARGEST >> UNIT_SHIFT;
}

void heap_each(void (*visit)(const struct heap *heap, void *data), void *data) {
    for (const struct heap *heap = heap_after(NULL); heap; heap = heap_after(heap))
        visit(heap, data);
}

void heap_lock(bool take) {
    if (take)
        lock_take(&heaps.lock);
    else
        lock_release(&heaps.lock);
}
