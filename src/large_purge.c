/* What goes home of all large blocks, now or after a rest; their sums. */
#include "large_parts.h"

/* What goes next: what has waited longest, while more than `keep` bytes wait, then, if `slack`, that of live blocks. NULL: no more. */
static struct large *large_give_up(size_t keep, bool slack) {
    favour_take(&larges.lock);
    struct large *large = spare_waiting_bytes() > keep ? large_give_up_oldest() : NULL;
    if (!large && slack)
        large = large_give_up_slack();
    favour_release(&larges.lock);
    return large;
}

void large_gather_now(void) {
    struct large *out = NULL;
    favour_take(&larges.lock);
    large_gather(&out);
    favour_release(&larges.lock);
    large_release_all(out);
}

/* What the kernel would not unmap it may unmap now. */
static size_t large_unmap_stuck(void) {
    favour_take(&larges.lock);
    struct large *stuck = larges.stuck;
    larges.stuck = NULL;
    favour_release(&larges.lock);
    size_t unmapped = 0;
    while (stuck)
        unmapped += large_release(large_pop(&stuck));
    return unmapped;
}

size_t large_purge(size_t keep, unsigned most) {
    size_t purged = large_unmap_stuck();
    struct large *large;
    large_have_record();
    large_gather_now();
    for (; most > 0 && (large = large_give_up(keep, true)) != NULL; most--)
        purged += large_release(large);
    return purged;
}

void large_yield(size_t bytes) {
    struct large *out = NULL;
    if (spare_run_bytes() + __atomic_load_n(&larges.recent.bytes, __ATOMIC_RELAXED) <
        LARGE_YIELD_LEAST) /* a hint */
        return;
    favour_take(&larges.lock);
    if (spare_run_bytes() == 0)
        large_gather(&out);
    struct large *large = spare_oldest(), *newer;
    for (unsigned looks = 0; looks < LARGE_GIVE_UP && large && bytes > 0; looks++, large = newer) {
        newer = large->newer;
        if (!large->home)
            continue;
        bytes -= large->extent < bytes ? large->extent : bytes;
        spare_remove(large);
        large_push(&out, large_waited(large));
    }
    favour_release(&larges.lock);
    large_release_all(out);
}

/* The slack of a block that has had it since before the last look, NULL if there is none. */
static struct large *large_give_up_rested_slack(void) {
    favour_take(&larges.lock);
    const struct large *oldest = larges.roomy.oldest;
    struct large *rest = oldest && oldest->since != larges.looks ? large_give_up_slack() : NULL;
    favour_release(&larges.lock);
    return rest;
}

static size_t large_purge_rested_slack(void) {
    size_t purged = 0;
    struct large *rest;
    for (unsigned i = 0; i < LARGE_GIVE_UP && (rest = large_give_up_rested_slack()) != NULL; i++)
        purged += large_release(rest);
    favour_take(&larges.lock);
    larges.looks++;
    favour_release(&larges.lock);
    return purged;
}

size_t large_purge_rested(void) {
    size_t purged = large_purge_rested_slack();
    large_gather_now();
    favour_take(&larges.lock);
    size_t rested = spare_rested_bytes(), keep = spare_waiting_bytes() - rested;
    favour_release(&larges.lock);
    struct large *large;
    for (unsigned i = 0; i < LARGE_WAITING_FEW && (large = large_give_up(keep, false)) != NULL; i++)
        purged += large_release(large);
    return purged;
}

size_t large_waiting_bytes(void) {
    return spare_waiting_bytes() + __atomic_load_n(&larges.recent.bytes, __ATOMIC_RELAXED) +
           __atomic_load_n(&larges.outside, __ATOMIC_RELAXED);
}

void large_configure(size_t cache_bytes) {
    larges.cache_limit = cache_bytes;
}

size_t large_mapped_bytes(void) {
    return __atomic_load_n(&larges.mapped_bytes, __ATOMIC_RELAXED);
}

size_t large_cached_bytes(void) {
    large_gather_now();
    return spare_mapping_bytes();
}

void large_lock(bool take) {
    if (take)
        favour_end(&larges.lock);
    else
        favour_release(&larges.lock);
}
