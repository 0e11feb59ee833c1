/* alloc_parts: what the parts of the room share.
 *
 *     alloc        malloc, free and their relatives, off the hit
 *     alloc_watch  the same of watched threads: whose allocations are noted down (sample), or calls timed (calls)
 *
 * A thread is watched when the options ask for it (heap_watch). Each of its calls takes the miss branch and comes here: what is not to
 * be noted down is a hit after all, everything else is done between heap_watch_begin and heap_watch_end, as any thread's.
 *
 * P1  what a watched thread allocates and frees is what any other would
 *
 * Called by the room alloc alone.
 */
#ifndef HAKMEM_ALLOC_PARTS_H
#define HAKMEM_ALLOC_PARTS_H

#include "alloc.h"
#include "calls.h"
#include "os.h"
#include "sample.h"

static inline void alloc_count_malloc(struct heap *heap, unsigned class) {
    if (has(counters))
        heap->mallocs[class]++;
}

static inline void alloc_count_free(struct heap *heap, unsigned class) {
    if (has(counters))
        heap->frees[class]++;
}

/* The record of what the thread calls; NULL: nothing is noted down, or there was no memory for it. */
static ALWAYS_INLINE struct calls *alloc_calls(void) {
    if (!has(calls) || !heap_watched || !calls_wanted())
        return NULL;
    if (UNLIKELY(!heap_own->calls))
        heap_own->calls = calls_new();
    return heap_own->calls;
}

/* A call that is to be noted down, from its beginning to its end; nothing where none is. */
struct alloc_call {
    struct calls *calls;
    uint64_t began;
};

static ALWAYS_INLINE struct alloc_call alloc_begin(void) {
    struct calls *calls = alloc_calls();
    return (struct alloc_call){calls, calls ? os_ticks() : 0};
}

static ALWAYS_INLINE void alloc_end(struct alloc_call call, enum calls_kind kind, const void *block,
                                    size_t bytes, const void *caller) {
    if (call.calls)
        calls_note(call.calls, kind, call.began, block, bytes, caller);
}

/* The hit of a watched thread whose block is not to be noted down; NULL: anything else. heap_none has no bytes left. */
static ALWAYS_INLINE void *alloc_watched_hit(size_t size, unsigned class) {
    struct heap *heap = heap_load_watched();
    if (!heap || heap->sampled.left < (int64_t)size || (has(calls) && calls_wanted()))
        return NULL;
    void *block = alloc_hit(heap, class);
    if (LIKELY(block != NULL))
        heap->sampled.left -= (int64_t)size;
    return block;
}

/* A free that is a hit; `mixed` is the block's tag with the heap's mixed in. */
static ALWAYS_INLINE bool alloc_free_hit(struct heap *heap, unsigned mixed, void *block) {
    return mixed < SIZECLASS_COUNT && alloc_push_hit(heap, mixed, block);
}

/* The same of a watched thread whose block was not noted down. */
static ALWAYS_INLINE bool alloc_free_watched_hit(uint32_t tag, void *block) {
    struct heap *heap = heap_load_watched();
    if (!heap || (has(calls) && calls_wanted()))
        return false;
    unsigned mixed = tag ^ heap->tag;
    return mixed < SIZECLASS_COUNT && !sample_may_be_live(block) && alloc_free_hit(heap, mixed, block);
}

/* The calls that are no such hits; `caller` is malloc's or free's, or one in this library. */
void *alloc_watched(size_t size, unsigned class, const void *caller);
void alloc_free_watched(void *block, const void *caller);

/* A large block of `size` bytes is about to be handed out. */
void alloc_watch_large(const void *block, size_t size, const void *caller);

#endif
