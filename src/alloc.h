/* alloc: malloc, free and their relatives; the hot half. The slow half is alloc.c.
 *
 * Owns the two paths that every program runs all day. One thread-local word leads to the heap, one table to
 * the class, one array to the block. There is one miss branch, which also means "no heap yet", "empty" and
 * "libc is to serve"; and one branch in free that also means "somebody else's", "large" and "not ours".
 *
 * P1  a hit touches no byte of the block and no slab record
 * P2  on success, and in free, errno is what it was
 * P3  a failed call returns NULL with errno ENOMEM and leaves the old block, if there is one, as it was
 * P4  a block is aligned to 16 bytes, and to its size if that is a power of two up to 64 bytes; to what was asked for in any case
 *
 * Golden instruction counts: tests/golden. Any thread may call everything here.
 */
#ifndef HAKMEM_ALLOC_H
#define HAKMEM_ALLOC_H

#include "heap.h"

/* The paths off the hit; `heap` is what the hit has loaded. Where calls may be noted down they are for `caller`, whom only what is
 * inlined into malloc or operator new knows; elsewhere alloc_large gets NULL. */
void *alloc_miss(size_t size, unsigned class, struct heap *heap);
void *alloc_miss_for(size_t size, unsigned class, struct heap *heap, const void *caller);
void *alloc_large(size_t size, const void *caller);
void alloc_free_slow(void *block);
void alloc_free_full(void *block, size_t class, struct heap *heap);
void alloc_free_other(void *block, unsigned mixed, struct heap *heap);

/* What the box `tax` adds to a call: about 3 % of the mixed workload, measured by lab/controls.py. */
static ALWAYS_INLINE void alloc_pay_tax(void) {
    __asm__ volatile("nop\n\tnop\n\tnop\n\tnop");
}

/* NULL: a miss. */
static ALWAYS_INLINE void *alloc_hit(struct heap *heap, unsigned class) {
    if (has(tax))
        alloc_pay_tax();
    unsigned char *top = heap->top[class];
    void *block = *(void **)top;
    if (UNLIKELY(block == NULL))
        return NULL;
    heap->top[class] = top - sizeof(void *);
    if (has(counters))
        heap->mallocs[class]++;
    return block;
}

/* The other way. False: the magazine looks full, and nothing has changed. */
static ALWAYS_INLINE bool alloc_push_hit(struct heap *heap, unsigned class, void *block) {
    unsigned char *top = heap->top[class];
    if (UNLIKELY(base_step_full(&top)))
        return false;
    *(void **)top = block;
    heap->top[class] = top;
    if (has(counters))
        heap->frees[class]++;
    return true;
}

static ALWAYS_INLINE void *alloc_class(size_t size, unsigned class) {
    struct heap *heap = heap_load();
    void *block = alloc_hit(heap, class);
    if (LIKELY(block != NULL))
        return block;
    return has(calls) ? alloc_miss_for(size, class, heap, __builtin_return_address(0))
                      : alloc_miss(size, class, heap);
}

static ALWAYS_INLINE void *alloc_malloc(size_t size) {
    if (UNLIKELY(size > SIZECLASS_LARGEST))
        return alloc_large(size, has(calls) ? __builtin_return_address(0) : NULL);
    return alloc_class(size, sizeclass_of(size));
}

/* The hit alone; NULL: anything else, alloc_malloc comes next. */
static ALWAYS_INLINE void *alloc_try(size_t size) {
    return LIKELY(size <= SIZECLASS_LARGEST) ? alloc_hit(heap_load(), sizeclass_of(size)) : NULL;
}

static ALWAYS_INLINE void alloc_free(void *block) {
    if (has(tax))
        alloc_pay_tax();
    size_t unit = pagemap_unit(block);
    if (UNLIKELY(has(verify_free) || unit >= PAGEMAP_WINDOW_UNITS)) {
        alloc_free_slow(block);
        return;
    }
    struct heap *heap = heap_load();
    unsigned class = pagemap_tag_in_window(unit) ^ heap_current.tag;
    if (UNLIKELY(class >= SIZECLASS_COUNT)) {
        alloc_free_other(block, class, heap);
        return;
    }
    if (UNLIKELY(!alloc_push_hit(heap, class, block)))
        alloc_free_full(block, class, heap);
}

void *alloc_calloc(size_t count, size_t size);

/* Size 0 frees the block and returns NULL. */
void *alloc_realloc(void *block, size_t size);

/* `alignment` is a power of two; above 64 KiB the block is a mapping of its own. */
void *alloc_aligned(size_t alignment, size_t size);

/* The same for functions of this library that do not end with the call: `caller` is who called them. */
void *alloc_aligned_for(size_t alignment, size_t size, const void *caller);

/* Bytes that may be used from `block` on; 0 for NULL and for what is not ours. */
size_t alloc_usable_size(const void *block);

#endif
