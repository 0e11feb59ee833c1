/* Long blocks of which nothing is known: they are looked at while they are written for the first time, by the janitor, as no call tells.
 * docs/experiments/first-long-blocks.md */
#include "large_parts.h"

#define LARGE_AHEAD_LEAST (8 * MIB) /* bytes: shorter ones are written before a look would tell */
#define LARGE_AHEAD_TELLS MIB       /* their first bytes, which tell */

_Atomic bool large_is_awaited;

/* Where their mappings begin. Relaxed, as the flag: a hint, and what is there is looked up under the lock. */
static SPARSE struct {
    const void *_Atomic starts[LARGE_AHEAD];
    _Atomic unsigned next;
} ahead;

void large_await(const void *start, size_t bytes) {
    if (bytes < LARGE_AHEAD_LEAST || !huge_is_unknown(bytes))
        return;
    unsigned place = atomic_fetch_add_explicit(&ahead.next, 1, memory_order_relaxed) % LARGE_AHEAD;
    atomic_store_explicit(&ahead.starts[place], start, memory_order_relaxed);
    atomic_store_explicit(&large_is_awaited, true, memory_order_relaxed);
}

/* Bytes of a mapping that is live, or at hand, and begins there; 0 if there is none. Only its first unit has the tag. */
static size_t large_extent_at(const void *start) {
    favour_take(&larges.lock);
    const struct large *large = pagemap_record_tagged(start, PAGEMAP_MAPPING);
    size_t extent = large ? large->extent : 0;
    favour_release(&larges.lock);
    return extent;
}

/* Returns whether more may be known of it soon. Where it is written whole, what of it is not in memory comes in huge pages from here on. It may go
 * meanwhile, and what others map there gets some, too: that changes no byte of it. */
static bool large_look_at(const void *start) {
    size_t extent = large_extent_at(start);
    enum pages_density density;
    if (extent >= LARGE_AHEAD_LEAST && huge_is_unknown(extent)) {
        pages_resident(start, LARGE_AHEAD_TELLS, &density);
        if (density != PAGES_DENSE)
            return true;
        huge_learn(start, extent, density);
    }
    if (extent >= LARGE_AHEAD_LEAST && huge_fills(extent) && !limit_near())
        huge_ask((void *)(uintptr_t)start, extent);
    return false;
}

bool large_look_ahead(void) {
    bool more = false;
    for (unsigned i = 0; i < LARGE_AHEAD; i++) {
        const void *start = atomic_load_explicit(&ahead.starts[i], memory_order_relaxed);
        if (start && large_look_at(start))
            more = true;
        else if (start)
            atomic_compare_exchange_strong_explicit(&ahead.starts[i], &start, NULL, memory_order_relaxed,
                                                    memory_order_relaxed);
    }
    return more;
}
