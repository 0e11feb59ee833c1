#include "purge.h"

#include "large.h"

#include <limits.h>

size_t purge_keep_free = 64 * MIB;

void purge_step(void) {
    superslab_purge(purge_keep_free / 4 * 3, PURGE_ADVICE_AT_ONCE);
}

static void purge_drain_heaps(void) {
    if (heap_current != &heap_none)
        heap_drain(heap_current);
    heap_drain_idle();
}

size_t purge_all(void) {
    purge_drain_heaps();
    return superslab_purge(0, UINT_MAX) + large_purge(0);
}

size_t purge_for_space(void) {
    purge_drain_heaps();
    size_t unmapped = superslab_unmap_free();
    return unmapped + superslab_purge(0, UINT_MAX) + large_purge(0);
}
