#include "alloc_parts.h"

#include "large.h"
#include "lifecycle.h"
#include "next.h"
#include "janitor.h"

#include <errno.h>
#include <string.h>

static COLD void *alloc_fail(void) {
    errno = ENOMEM;
    return NULL;
}

/* A thread that has handed its heap back borrows one for a single block. It may be one that a fork has left with blocks at hand. */
static COLD void *alloc_borrowed(unsigned class) {
    struct heap *heap = heap_take();
    if (!heap)
        return NULL;
    void *block = alloc_hit(heap, class);
    if (!block && (block = heap_refill(heap, class)) != NULL)
        alloc_count_malloc(heap, class);
    heap_retire(heap);
    return block;
}

/* NULL: there is no memory for a heap, or for the block of a thread that has ended. */
static ALWAYS_INLINE void *alloc_first_try(size_t size, unsigned class, const void *caller) {
    if (lifecycle_attach())
        return heap_is_watched() ? alloc_watched(size, class, caller) : alloc_class(size, class);
    return lifecycle_forced() ? next_malloc(size) : lifecycle_ended() ? alloc_borrowed(class) : NULL;
}

static COLD void *alloc_first_again(size_t size, unsigned class, const void *caller) {
    purge_for_space();
    void *block = alloc_first_try(size, class, caller);
    return block ? block : alloc_fail();
}

/* Who has got a heap by it has tried twice already. */
COLD static void *alloc_first(size_t size, unsigned class, const void *caller) {
    void *block = alloc_first_try(size, class, caller);
    return LIKELY(block || heap_own || lifecycle_forced()) ? block : alloc_first_again(size, class, caller);
}

static NOINLINE void *alloc_without_heap(size_t size, unsigned class, const void *caller) {
    void *block = alloc_watched_hit(size, class);
    if (LIKELY(block != NULL))
        return block;
    return heap_is_watched() ? alloc_watched(size, class, caller) : alloc_first(size, class, caller);
}

static ALWAYS_INLINE void *alloc_refilled(unsigned class, struct heap *heap, const void *caller) {
    void *block = heap_refill(heap, class);
    if (UNLIKELY(block == NULL)) {
        purge_for_space(); /* also takes blocks out of magazines: whatever it returns, it may have helped */
        block = heap_refill(heap, class);
        if (!block)
            return alloc_fail();
    }
    alloc_count_malloc(heap, class);
    purge_after_take();
    janitor_after_take(caller);
    return block;
}

/* The class has no magazine: its first blocks may be those of another, which may be at hand. */
static COLD void *alloc_begun(unsigned class, struct heap *heap, const void *caller) {
    unsigned serving = heap_serving(heap, class);
    void *block = serving == class ? NULL : alloc_hit(heap, serving);
    return block ? block : alloc_refilled(serving, heap, caller);
}

NOINLINE void *alloc_miss(size_t size, unsigned class, struct heap *heap) {
    if (UNLIKELY(heap == &heap_none))
        return alloc_without_heap(size, class, __builtin_return_address(0));
    if (UNLIKELY(heap_has_not_begun(heap, class)))
        return alloc_begun(class, heap, __builtin_return_address(0));
    return alloc_refilled(class, heap, __builtin_return_address(0));
}

NOINLINE void *alloc_miss_for(size_t size, unsigned class, struct heap *heap, const void *caller) {
    if (UNLIKELY(heap == &heap_none))
        return alloc_without_heap(size, class, caller);
    if (UNLIKELY(heap_has_not_begun(heap, class)))
        return alloc_begun(class, heap, caller);
    return alloc_refilled(class, heap, caller);
}

/* The second try. A size that no system has is refused before anything is given back in vain. */
static COLD void *alloc_large_again(size_t size, size_t alignment, bool *zeroed) {
    if (size >> PAGEMAP_ADDRESS_SHIFT)
        return alloc_fail();
    purge_for_space();
    void *block = large_new(size, alignment, zeroed);
    return block ? block : alloc_fail();
}

static ALWAYS_INLINE void alloc_count_large(const void *block, size_t size, const void *caller) {
    if (LIKELY(heap_own != NULL))
        heap_own->larges++;
    if (UNLIKELY(heap_watched != NULL))
        alloc_watch_large(block, size, caller);
    purge_after_take();
    janitor_after_large(caller);
}

/* The heap that yields to a large block, if that is a run; heap_none: none. */
static ALWAYS_INLINE struct heap *alloc_yielding(size_t size) {
    return size > SUPERSLAB_RUN_LARGEST * UNIT_SIZE || heap_is_watched() ? &heap_none : heap_mine();
}

/* Of what the thread has put by. */
static void alloc_yield(size_t size) {
    struct heap *heap = alloc_yielding(size);
    if (LIKELY(heap != &heap_none))
        heap_yield(heap, size);
}

/* One came of memory that nobody had touched: the next one may do without. */
static NOINLINE void alloc_yield_next(size_t size) {
    struct heap *heap = alloc_yielding(size);
    if (LIKELY(heap != &heap_none))
        heap_yield_next(heap, size);
}

static ALWAYS_INLINE void *alloc_large_aligned(size_t size, size_t alignment, bool *zeroed,
                                               const void *caller) {
    struct alloc_call call = alloc_begin();
    alloc_yield(size);
    void *block = large_new(size, alignment, zeroed);
    if (UNLIKELY(*zeroed))
        alloc_yield_next(size);
    if (UNLIKELY(!block))
        block = alloc_large_again(size, alignment, zeroed);
    alloc_end(call, CALLS_MALLOC_LARGE, block, size, caller);
    if (UNLIKELY(!block))
        return NULL;
    alloc_count_large(block, size, caller);
    return block;
}

/* Large blocks need no heap; but the options are read before the first of them. Who has a heap is not forced. */
static bool alloc_is_forced(void) {
    return UNLIKELY(!heap_own) && !lifecycle_attach() && lifecycle_forced();
}

static NOINLINE void *alloc_large_after(size_t size, const void *caller) {
    bool zeroed;
    if (alloc_is_forced())
        return next_malloc(size);
    return alloc_large_aligned(size, SIZECLASS_GRANULE, &zeroed, caller);
}

NOINLINE void *alloc_large(size_t size, const void *caller) {
    struct heap *heap = heap_load();
    if (LIKELY(heap != &heap_none && !limit_is_watching() && !has(calls))) {
        void *block = large_again(&heap->hand, size);
        if (LIKELY(block != NULL)) {
            heap->larges++;
            return block;
        }
    }
    return alloc_large_after(size, has(calls) ? caller : __builtin_return_address(0));
}

/* ---- free ---- */

static void alloc_misuse(enum slab_verdict verdict, const void *block) {
    if (verdict != SLAB_OK)
        misuse_report(verdict == SLAB_INSIDE ? MISUSE_INSIDE : MISUSE_DOUBLE_FREE, block);
}

static void alloc_free_local(struct heap *heap, unsigned class, void *block, const void *caller) {
    if (has(verify_free)) {
        struct slab *slab = pagemap_record(block);
        alloc_misuse(slab ? heap_put_verified(heap, slab, block) : SLAB_DOUBLE_FREE,
                     block); /* no slab: it went home */
    } else {
        heap_push(heap, class, block);
    }
    alloc_count_free(heap, class);
    janitor_after_free(caller);
}

/* Frees of a thread without a heap that go home one by one. libc frees a few blocks in threads that have run their last
 * destructor, where nobody would ever retire a heap again. */
enum { FREES_WITHOUT_HEAP = 32 };

/* A thread that only frees gets a heap, too, for its outbox: when it goes on freeing. */
static COLD struct heap *alloc_heap_of_freer(void) {
    static THREAD_LOCAL unsigned char frees;
    if (frees < FREES_WITHOUT_HEAP) {
        frees++;
        return &heap_none;
    }
    int kept = errno; /* P2: attaching may allocate, and fail */
    struct heap *heap = lifecycle_attach();
    errno = kept;
    return heap ? heap : &heap_none;
}

static void alloc_free_small(uint32_t tag, void *block, const void *caller) {
    if (heap_is_watched()) {
        alloc_free_watched(block, caller);
        return;
    }
    struct heap *heap = heap_mine();
    unsigned class = pagemap_kind(tag);
    if ((tag ^ heap->tag) < SIZECLASS_COUNT) {
        alloc_free_local(heap, class, block, caller);
        return;
    }
    if (heap == &heap_none) {
        sample_gone(block);
        heap = alloc_heap_of_freer();
    }
    if (heap != &heap_none)
        alloc_count_free(heap, class);
    if (!heap->outbox)
        heap_post_first(heap, block);
    else if (heap_post(heap, class, block))
        heap_send(heap);
    janitor_after_free(caller);
}

/* It has the tag of a large block, and is not the start of a live one. */
static COLD void alloc_report_large(void *block) {
    const struct large *large = pagemap_record(block);
    misuse_report(large && !large_was_freed(large, block) ? MISUSE_INSIDE : MISUSE_DOUBLE_FREE, block);
}

static NOINLINE void alloc_free_large_after(void *block, const void *caller) {
    struct large *large = pagemap_record(block);
    if (UNLIKELY(!large || large->start != block)) {
        alloc_report_large(block);
        return;
    }
    if (LIKELY(heap_own != NULL))
        heap_own->large_frees++;
    if (UNLIKELY(heap_watched != NULL || heap_own == NULL))
        sample_gone(block);
    size_t bytes = large->bytes;
    struct alloc_call call = alloc_begin();
    large_delete(large);
    alloc_end(call, CALLS_FREE_LARGE, block, bytes, caller);
    janitor_after_free(caller);
}

/* `block` in the window; `heap` as heap_load has it. The hit makes nothing dirty. Its caller ends with it, so that who called that is
 * who called this. */
static NOINLINE void alloc_free_large(void *block, struct heap *heap) {
    struct large *large = pagemap_record_in_window(pagemap_unit(block));
    bool live = LIKELY(large != NULL) && large->start == block;
    if (LIKELY(live && heap != &heap_none && !has(calls) && large_rest(large, &heap->hand))) {
        heap->large_frees++;
        janitor_after_rest(__builtin_return_address(0));
    } else {
        alloc_free_large_after(block, __builtin_return_address(0));
    }
}

static NOINLINE void alloc_free_foreign(void *block) {
    if (lifecycle_forced())
        next_free(block);
    else
        misuse_report(pagemap_is_near(block) ? MISUSE_GONE : MISUSE_FOREIGN, block);
}

static ALWAYS_INLINE void alloc_free_for(uint32_t tag, void *block, const void *caller) {
    if (tag == PAGEMAP_NONE)
        alloc_free_foreign(block);
    else if (pagemap_kind(tag) < SIZECLASS_COUNT)
        alloc_free_small(tag, block, caller);
    else
        alloc_free_large_after(block, caller);
}

NOINLINE void alloc_free_slow(void *block) {
    if (block != NULL)
        alloc_free_for(pagemap_tag(block), block, __builtin_return_address(0));
}

/* The magazine is full, or cannot be had: a visitor is at it, or a fork has come between, and the tag is that of the heap before.
 * Apart, so that a deep one that goes on saves no register. */
static NOINLINE void alloc_flush(void *block, unsigned class, struct heap *heap, const void *caller) {
    if (UNLIKELY(heap == &heap_none)) {
        alloc_free_small(heap_current.tag | class, block, caller);
        return;
    }
    alloc_count_free(heap, class);
    heap_push(heap, class, block);
    janitor_after_free(caller);
}

static NOINLINE void alloc_free_on(void *block, size_t class, struct heap *heap) {
    if (LIKELY(heap_push_on(heap, (unsigned)class, block)))
        alloc_count_free(heap, (unsigned)class);
    else
        alloc_flush(block, (unsigned)class, heap, __builtin_return_address(0));
}

static NOINLINE void alloc_marked_all(struct heap *heap, const void *caller) {
    heap_marked_all(heap);
    janitor_after_free(caller);
}

/* The low byte of the top wraps: the class is being marked; or a deep magazine goes on, or it is full. All but the first apart, so
 * that it saves no register. `class` is as wide as the register that the hit has it in, so that the hit copies nothing. */
NOINLINE void alloc_free_full(void *block, size_t class, struct heap *heap) {
    enum marks_found found = marks_add(&heap->marks, block);
    if (UNLIKELY(found == MARKS_ELSEWHERE)) {
        alloc_free_on(block, class, heap);
        return;
    }
    alloc_count_free(heap, (unsigned)class);
    if (UNLIKELY(found == MARKS_LAST))
        alloc_marked_all(heap, __builtin_return_address(0));
}

/* The outbox is full. */
static NOINLINE void alloc_send(struct heap *heap, void *caller) {
    heap_send(heap);
    janitor_after_free(caller);
}

/* The same where the heap hosts. */
static NOINLINE void alloc_free_hosted(void *block, uint32_t tag, struct heap *heap, void *caller) {
    unsigned class = pagemap_kind(tag);
    alloc_count_free(heap, class);
    if (!heap_keep_guest(heap, class, block) && heap_post(heap, class, block))
        alloc_send(heap, caller);
}

/* What is not ours, or has no heap to go to; or the thread has none, as one that is watched. */
static NOINLINE void alloc_free_elsewhere(void *block, uint32_t tag, struct heap *heap, void *caller) {
    if (heap != &heap_none || !alloc_free_watched_hit(tag, block))
        alloc_free_for(tag, block, caller);
}

/* What is not the heap's own small block; `mixed` is its tag with the thread's own mixed in. First of all a block of
 * another heap, which goes to the outbox: what lies in its way does so in two lines of the cache. Then NULL, of which C programs free many. */
NOINLINE void alloc_free_other(void *block, unsigned mixed, struct heap *heap) {
    uint32_t tag = mixed ^ heap_current.tag;
    bool owned = pagemap_is_owned(tag);
    struct outbox *outbox = LIKELY(owned) ? heap->posting : NULL;
    if (LIKELY(outbox != NULL)) {
        alloc_count_free(heap, pagemap_kind(tag));
        if (heap_post_in(outbox, pagemap_kind(tag), block))
            alloc_send(heap, __builtin_return_address(0));
    } else if (owned && heap_hosts(heap)) {
        alloc_free_hosted(block, tag, heap, __builtin_return_address(0));
    } else if (!block) {
        return;
    } else if (tag == PAGEMAP_RUN || tag == PAGEMAP_MAPPING) {
        alloc_free_large(block, heap);
    } else {
        alloc_free_elsewhere(block, tag, heap, __builtin_return_address(0));
    }
}

/* ---- relatives ---- */

static NOINLINE void *alloc_calloc_large(size_t count, size_t size) {
    bool zeroed;
    if (alloc_is_forced())
        return next_calloc(count, size);
    void *block = alloc_large_aligned(count * size, SIZECLASS_GRANULE, &zeroed, __builtin_return_address(0));
    return block && !zeroed ? large_clear(block, count * size) : block;
}

enum { CLEARED_HERE = 64 /* bytes */ };

/* Clears what is asked for of a block of ours, up to the next granule, which is the block's in any case. Not all by memset: that
 * of glibc clears fewer than 64 bytes with one masked store where it can, and then whatever is read of the block, or behind it,
 * has to wait. docs/experiments/small-callocs.md */
static ALWAYS_INLINE void *alloc_clear(void *block, size_t bytes) {
    typedef uint64_t granule __attribute__((vector_size(SIZECLASS_GRANULE), may_alias));
    if (bytes - 1 >= CLEARED_HERE)
        return memset(block, 0, bytes);
    size_t last = (bytes - 1) / sizeof(granule), half = last / 2; /* of one to four, some of them twice */
    granule *first = block;
    first[0] = first[half] = first[last - half] = first[last] = (granule){0};
    return block;
}

/* Of a block that may be libc's, not a byte more. */
static NOINLINE void *alloc_calloc_miss(size_t bytes, unsigned class, struct heap *heap, const void *caller) {
    /* In any case who called calloc: the linker does, and nothing may be loaded, nor a thread started, from inside of it. */
    void *block = alloc_miss_for(bytes, class, heap, has(calls) ? caller : __builtin_return_address(0));
    return LIKELY(block != NULL) ? memset(block, 0, bytes) : NULL;
}

void *alloc_calloc(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return alloc_fail();
    if (UNLIKELY(bytes > SIZECLASS_LARGEST))
        return alloc_calloc_large(count, size);
    unsigned class = sizeclass_of(bytes);
    struct heap *heap = heap_load();
    void *block = alloc_hit(heap, class);
    if (LIKELY(block != NULL))
        return alloc_clear(block, bytes);
    return alloc_calloc_miss(bytes, class, heap, has(calls) ? __builtin_return_address(0) : NULL);
}

/* A small block in the name of who called a function of this library. The return address of a call from here would not say who. */
static ALWAYS_INLINE void *alloc_class_for(size_t size, unsigned class, const void *caller) {
    struct heap *heap = heap_load();
    void *block = alloc_hit(heap, class);
    return LIKELY(block != NULL) ? block : alloc_miss_for(size, class, heap, caller);
}

/* A watched thread's class has lodged: no more. */
static COLD void *alloc_aligned_again(void *lodger, size_t size, unsigned class, const void *caller) {
    heap_lodge_none(heap_own, class);
    void *block = alloc_miss_for(size, class, heap_load(), caller);
    alloc_free(lodger);
    return block;
}

/* A lodger (see heap_serving) has the alignment of a line. */
static NOINLINE void *alloc_aligned_miss(size_t alignment, size_t size, unsigned class, const void *caller) {
    struct heap *heap = alignment > SIZECLASS_COLOUR && !heap_is_watched() ? heap_mine() : &heap_none;
    if (heap != &heap_none)
        heap_lodge_none(heap, class);
    void *block = alloc_miss_for(size, class, heap_load(), caller);
    bool lodges = UNLIKELY((uintptr_t)block % alignment != 0);
    return lodges ? alloc_aligned_again(block, size, class, caller) : block;
}

/* A large block, or a thread that has no heap yet. */
static NOINLINE void *alloc_aligned_after(size_t alignment, size_t size, unsigned class, const void *caller) {
    bool zeroed;
    if (alloc_is_forced())
        return next_aligned(alignment, size);
    return class < SIZECLASS_COUNT ? alloc_aligned_miss(alignment, size, class, caller)
                                   : alloc_large_aligned(size, alignment, &zeroed, caller);
}

void *alloc_aligned_for(size_t alignment, size_t size, const void *caller) {
    unsigned class = sizeclass_aligned(size, alignment);
    if (UNLIKELY(class >= SIZECLASS_COUNT))
        return alloc_aligned_after(alignment, size, class, caller);
    void *block = alloc_hit(heap_load(), class);
    if (LIKELY(block != NULL))
        return block;
    return heap_own ? alloc_aligned_miss(alignment, size, class, caller)
                    : alloc_aligned_after(alignment, size, class, caller);
}

void *alloc_aligned(size_t alignment, size_t size) {
    return alloc_aligned_for(alignment, size, __builtin_return_address(0));
}

/* The record of a large block, NULL if `block` is not the start of one. */
static struct large *alloc_large_of(uint32_t tag, const void *block) {
    bool starts = tag == PAGEMAP_RUN || tag == PAGEMAP_MAPPING;
    struct large *large = starts ? pagemap_record(block) : NULL;
    return large && large->start == block ? large : NULL;
}

size_t alloc_usable_size(const void *block) {
    uint32_t tag = pagemap_tag(block);
    if (tag == PAGEMAP_NONE)
        return block && lifecycle_forced() ? next_usable_size((void *)(uintptr_t)block) : 0;
    if (pagemap_kind(tag) < SIZECLASS_COUNT)
        return sizeclass_table[pagemap_kind(tag)].size;
    struct large *large = alloc_large_of(tag, block);
    return large ? large_usable(large) : 0;
}

/* True when a block of `usable` bytes is good enough for `size`: it fits, and less than half is wasted. */
static bool alloc_fits(size_t size, size_t usable) {
    return size <= usable && (size >= usable / 2 || usable <= 2 * SIZECLASS_GRANULE);
}

/* What realloc takes and gives back is in the name of who called it: it may be libc or the dynamic linker, in whom nothing may be loaded,
 * nor a thread started. */
static void *alloc_malloc_for(size_t size, const void *caller) {
    bool zeroed;
    if (size > SIZECLASS_LARGEST)
        return alloc_is_forced() ? next_malloc(size)
                                 : alloc_large_aligned(size, SIZECLASS_GRANULE, &zeroed, caller);
    return alloc_class_for(size, sizeclass_of(size), caller);
}

static NOINLINE void alloc_free_at_once(uint32_t tag, void *block, const void *caller) {
    alloc_free_for(tag, block, caller);
}

static ALWAYS_INLINE void alloc_free_copied(uint32_t tag, void *block, const void *caller) {
    struct heap *heap = heap_load();
    bool hit =
        !has(verify_free) && (heap == &heap_none ? alloc_free_watched_hit(tag, block)
                                                 : alloc_free_hit(heap, tag ^ heap_current.tag, block));
    if (UNLIKELY(!hit))
        alloc_free_at_once(tag, block, caller);
}

/* For a large block that was one of `usable` bytes, and may grow again. */
static void *alloc_grown(size_t usable, size_t size, const void *caller) {
    if (!heap_own)
        return alloc_malloc_for(size, caller);
    struct alloc_call call = alloc_begin();
    bool zeroed;
    alloc_yield(size);
    void *block = large_new_to_grow(size, usable, &zeroed);
    if (zeroed)
        alloc_yield_next(size);
    if (!block)
        return alloc_malloc_for(size, caller);
    alloc_end(call, CALLS_MALLOC_LARGE, block, size, caller);
    alloc_count_large(block, size, caller);
    return block;
}

/* A small one, of `class`, or just as long as it must be where there is no memory for that. */
static void *alloc_roomy(size_t size, unsigned class, const void *caller) {
    int kept = errno; /* P2 */
    void *block = alloc_class_for(size, class, caller);
    if (LIKELY(block != NULL) || class == sizeclass_of(size))
        return block;
    errno = kept;
    return alloc_malloc_for(size, caller);
}

/* The block for a copy when it is no hit. */
static NOINLINE void *alloc_for_copy(size_t usable, size_t size, unsigned class, const void *caller) {
    if (size > usable)
        return size > SIZECLASS_LARGEST ? alloc_grown(usable, size, caller)
                                        : alloc_roomy(size, class, caller);
    int kept = errno; /* P2 */
    void *copy = alloc_malloc_for(size, caller);
    if (UNLIKELY(!copy))
        errno = kept;
    return copy;
}

/* SIZECLASS_COUNT: none, it is large. */
static ALWAYS_INLINE unsigned alloc_class_of_copy(size_t usable, size_t size) {
    if (UNLIKELY(size > SIZECLASS_LARGEST))
        return SIZECLASS_COUNT;
    return size > usable && heap_own ? heap_growing(heap_own, usable, size) : sizeclass_of(size);
}

/* One that is to be smaller stays what it is where there is no memory for another: programs count on that. */
static NOINLINE void *alloc_copy(uint32_t tag, void *block, size_t usable, size_t size, const void *caller) {
    unsigned class = alloc_class_of_copy(usable, size);
    void *copy = LIKELY(class < SIZECLASS_COUNT) ? alloc_hit(heap_load(), class) : NULL;
    if (UNLIKELY(!copy) && !(copy = alloc_for_copy(usable, size, class, caller)))
        return size <= usable ? block : NULL;
    memcpy(copy, block, usable < size ? usable : size);
    alloc_free_copied(tag, block, caller);
    return copy;
}

static void *alloc_realloc_foreign(void *block, size_t size) {
    if (lifecycle_forced())
        return next_realloc(block, size);
    misuse_report(MISUSE_FOREIGN, block);
    return alloc_fail();
}

static NOINLINE void *alloc_resize(struct large *large, void *block, size_t size, const void *caller) {
    if (LIKELY(heap_watched == NULL && heap_own != NULL))
        return large_resize(large, size);
    struct sample_live *live = sample_set_aside(block); /* before another thread may get its address */
    struct alloc_call call = alloc_begin();
    void *resized = large_resize(large, size);
    alloc_end(call, CALLS_RESIZE, resized, size, caller);
    sample_settle(live, resized != NULL);
    if (resized)
        alloc_watch_large(resized, size, caller);
    return resized;
}

/* Apart, so that a block that stays saves no register. */
static NOINLINE void *alloc_realloc_large(uint32_t tag, void *block, size_t size, const void *caller) {
    struct large *large = alloc_large_of(tag, block);
    if (!large) {
        alloc_report_large(block);
        return alloc_fail();
    }
    if (size > SIZECLASS_LARGEST) {
        void *resized = alloc_resize(large, block, size, caller);
        if (resized)
            return resized;
    } else if (alloc_fits(size, large_usable(large))) {
        return block;
    }
    return alloc_copy(tag, block, large_usable(large), size, caller);
}

/* True when a small block starts at `block`, and, where frees are verified, it is in use. Says so if not. */
static bool alloc_is_block(const void *block) {
    const struct slab *slab = pagemap_record(block);
    uint32_t number = slab ? slab_block_number(slab, block) : SLAB_NO_BLOCK;
    if (has(verify_free) && number != SLAB_NO_BLOCK && !slab_was_carved(slab, number))
        number = SLAB_NO_BLOCK;
    bool freed = has(verify_free) && number != SLAB_NO_BLOCK && remote_is_freed(slab, number);
    if (number == SLAB_NO_BLOCK || freed)
        misuse_report(freed ? MISUSE_DOUBLE_FREE : MISUSE_INSIDE, block);
    return number != SLAB_NO_BLOCK && !freed;
}

static NOINLINE void *alloc_realloc_small(uint32_t tag, void *block, size_t size, const void *caller) {
    size_t usable = sizeclass_table[pagemap_kind(tag)].size;
    if (UNLIKELY(!alloc_is_block(block)))
        return alloc_fail();
    return has(verify_free) && alloc_fits(size, usable) ? block
                                                        : alloc_copy(tag, block, usable, size, caller);
}

void *alloc_realloc(void *block, size_t size) {
    if (block == NULL)
        return alloc_malloc(size);
    uint32_t tag = pagemap_tag(block);
    unsigned kind = pagemap_kind(tag);
    if (size == 0 && tag != PAGEMAP_NONE) {
        alloc_free_at_once(tag, block, __builtin_return_address(0));
        return NULL;
    }
    if (tag == PAGEMAP_NONE)
        return alloc_realloc_foreign(block, size);
    if (kind >= SIZECLASS_COUNT)
        return alloc_realloc_large(tag, block, size, __builtin_return_address(0));
    if (!has(verify_free) && LIKELY(alloc_fits(size, sizeclass_table[kind].size)))
        return block;
    return alloc_realloc_small(tag, block, size, __builtin_return_address(0));
}
