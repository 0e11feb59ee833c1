/* Blocks in fields of superslabs, whose pages are huge: those that are known to be written whole. docs/experiments/fields.md */
#include "large_parts.h"

/* One that is as long as those in fields, and waits or was freed last. Under the lock; NULL: there is none. */
static struct large *large_take_unwanted(size_t most) {
    struct large *large = large_take_rested(LARGE_FIELD_LEAST, most);
    return large ? large : large_take_waiting(LARGE_FIELD_LEAST, most, UNIT_SIZE, false);
}

/* New memory has come: as much goes of what would have served instead, but of nothing longer; and of what is dirty. */
static void large_make_room(size_t bytes) {
    struct large *out = NULL, *large;
    favour_take(&larges.lock);
    for (size_t given = 0; given < bytes && (large = large_take_unwanted(bytes)) != NULL;
         given += large->extent)
        large_push(&out, large);
    favour_release(&larges.lock);
    large_release_all(out);
    superslab_purge_outside(bytes);
}

/* New memory, but of each DENSE_WATCHES-th: *probe. */
static struct superslab_run large_take_fresh(size_t bytes, bool *probe) {
    static _Atomic uint32_t fresh; /* relaxed: a count */
    if (limit_near() || !limit_may_split())
        return (struct superslab_run){0};
    uint32_t before = atomic_fetch_add_explicit(&fresh, 1, memory_order_relaxed);
    *probe = before % DENSE_WATCHES == DENSE_WATCHES - 1;
    if (*probe)
        return (struct superslab_run){0};
    struct superslab_run run = superslab_take_field((unsigned)(bytes >> UNIT_SHIFT), true);
    if (run.start)
        large_make_room(bytes);
    return run;
}

struct large *large_new_in_field(size_t bytes, bool *probe, bool *zeroed) {
    bool has = superslab_has_fields(),
         grows = dense_known(DENSE_LARGE) == DENSE_YES && superslab_fields_pay();
    struct large *large = has || grows ? large_take_record() : NULL;
    *probe = false;
    if (!large)
        return NULL;
    struct superslab_run run = {0};
    if (has)
        run = superslab_take_field((unsigned)(bytes >> UNIT_SHIFT), false);
    if (!run.start && grows)
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
