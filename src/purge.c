#include "purge.h"

#include "large.h"

#include <limits.h>

size_t purge_keep_free = 64 * MIB;

void purge_step(void) {
    superslab_purge(purge_keep_free / 4 * 3, PURGE_ADVICE_AT_ONCE);
}

size_t purge_all(void) {
    if (heap_current != &heap_none)
        heap_drain(heap_current);
    heap_drain_idle();
    return superslab_purge(0, UINT_MAX) + large_purge(0);
}
