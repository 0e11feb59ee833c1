/* The calls of watched threads. */
#include "alloc_parts.h"

#include "janitor.h"
#include "os.h"

/* Where nothing can be loaded there is nothing to wait for. */
static void alloc_prepare_samples(const void *caller) {
    if (!sample_filter || LIKELY(sample_is_prepared()))
        return;
    if (!os_has_linker() || janitor_may_start_from(caller))
        sample_prepare();
}

NOINLINE void *alloc_watched(size_t size, unsigned class, const void *caller) {
    alloc_prepare_samples(caller);
    heap_watch_begin();
    struct alloc_call call = alloc_begin();
    void *block = alloc_class(size, class);
    alloc_end(call, CALLS_MALLOC, block, size, caller);
    if (LIKELY(block != NULL))
        sample_took(&heap_own->sampled, block, size, caller);
    heap_watch_end();
    janitor_after_take(caller);
    return block;
}

COLD void alloc_watch_large(const void *block, size_t size, const void *caller) {
    if (!heap_is_watched())
        return;
    alloc_prepare_samples(caller);
    heap_watch_begin();
    sample_took(&heap_own->sampled, block, size, caller);
    heap_watch_end();
}

NOINLINE void alloc_free_watched(void *block, const void *caller) {
    sample_gone(block);
    heap_watch_begin();
    size_t bytes = has(calls) ? alloc_usable_size(block) : 0;
    struct alloc_call call = alloc_begin();
    alloc_free(block);
    alloc_end(call, CALLS_FREE, block, bytes, caller);
    heap_watch_end();
    janitor_after_free(caller);
}
