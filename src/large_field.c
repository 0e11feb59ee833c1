/* Blocks in fields of superslabs, whose pages are huge: those that are known to be written whole. docs/experiments/fields.md */
#include "large_parts.h"

#define FIELD_STEP ((size_t)PAGES_AREA) /* bytes: what the first touch of a huge page brings */
enum { CALLS = 4 /* for what goes home instead */ };

/* One that is as long as those in fields, and waits or was freed last. Under the lock; NULL: there is none. */
static struct large *large_take_unwanted(void) {
    struct large *large = spare_recent_take(&larges.recent, LARGE_FIELD_LEAST, LARGE_RUN_MOST);
    if (!large)
        return large_take_waiting(LARGE_FIELD_LEAST, LARGE_RUN_MOST, UNIT_SIZE, false);
    larges.held -= large_weight(large);
    large_end_rest(large);
    return large;
}

/* New memory comes: as much goes of what would have served instead, and of what is dirty. */
static void large_make_room(void) {
    struct large *out = NULL, *large;
    favour_take(&larges.lock);
    for (size_t bytes = 0; bytes < FIELD_STEP && (large = large_take_unwanted()) != NULL;
         bytes += large->extent)
        large_push(&out, large);
    favour_release(&larges.lock);
    large_release_all(out);
    superslab_purge_outside(FIELD_STEP, CALLS);
}

/* New memory, but of each DENSE_WATCHES-th: *probe. */
static struct superslab_run large_take_fresh(size_t bytes, bool *probe) {
    static _Atomic uint32_t fresh; /* relaxed: a count */
    if (limit_near() || !limit_may_split() || !superslab_fields_pay())
        return (struct superslab_run){0};
    uint32_t before = atomic_fetch_add_explicit(&fresh, 1, memory_order_relaxed);
    *probe = before % DENSE_WATCHES == DENSE_WATCHES - 1;
    if (*probe)
        return (struct superslab_run){0};
    large_make_room();
    return superslab_take_field((unsigned)(bytes >> UNIT_SHIFT), true);
}

struct large *large_new_in_field(size_t bytes, bool *probe, bool *zeroed) {
    struct large *large = large_take_record();
    *probe = false;
    if (!large)
        return NULL;
    struct superslab_run run = superslab_take_field((unsigned)(bytes >> UNIT_SHIFT), false);
    if (!run.start)
        run = large_take_fresh(bytes, probe);
    if (!run.start) {
        large_give_record(large);
        return NULL;
    }
    large->start = run.start;
    large->home = run.home;
    large->extent = large->bytes = bytes;
    *zeroed = run.zeroed;
    pagemap_set(run.start + UNIT_SIZE, run.units - 1, PAGEMAP_RUN_INSIDE, large);
    return large;
}
