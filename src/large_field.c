/* Blocks that are known to be written whole: their pages are huge, in fields of superslabs, or among slabs. docs/experiments/fields.md */
#include "large_parts.h"

/* One that is as long as those in fields, and waits or was freed last. Under the lock; NULL: there is none. */
static struct large *large_take_unwanted(size_t most) {
    struct large *large = large_take_rested(LARGE_FIELD_LEAST, most);
    return large ? large : large_take_waiting(LARGE_FIELD_LEAST, most, UNIT_SIZE, SPARE_ANY);
}

/* New memory has come: as much goes of what would have served instead, but of nothing longer, unless that lies in fields as well; and of
 * what is dirty. */
static void large_make_room(size_t bytes) {
    struct large *out = NULL, *large;
    size_t most = bytes > LARGE_RUN_MOST ? LARGE_FIELD_MOST : bytes, given = 0;
    favour_take(&larges.lock);
    for (; given < bytes && (large = large_take_unwanted(most)) != NULL; given += large->extent)
        large_push(&out, large);
    if (bytes > LARGE_RUN_MOST)
        large_note_exchange(given);
    favour_release(&larges.lock);
    large_release_all(out);
    superslab_purge_outside(bytes);
}

/* Each so many-th that could be in new memory is a probe; what is longer than a run tells as a mapping (huge P2). */
static bool large_is_probe(size_t bytes) {
    static uint32_t fresh;
    if (bytes > LARGE_RUN_MOST)
        return huge_probe_is_due(bytes) || !huge_wants(bytes);
    return dense_probe_is_due(&fresh);
}

/* Whether blocks of that length are known to be written whole. */
static bool large_is_known_whole(size_t bytes) {
    enum dense_kind kind = dense_kind_of_run(bytes >> UNIT_SHIFT);
    return bytes > LARGE_RUN_MOST ? huge_suits(bytes) : dense_known(kind) == DENSE_YES;
}

bool large_run_fills(size_t bytes, bool *probe) {
    bool whole = large_is_known_whole(bytes) && superslab_may_sort();
    *probe = whole && large_is_probe(bytes);
    return whole && !*probe;
}

/* New memory, unless it is to be a probe. */
static struct superslab_run large_take_fresh(size_t bytes, bool *probe) {
    struct superslab_run run = {0};
    if (limit_near() || !limit_may_split())
        return run;
    *probe = large_is_probe(bytes);
    if (!*probe)
        run = superslab_take_field((unsigned)(bytes >> UNIT_SHIFT), true);
    if (run.start)
        large_make_room(bytes);
    if (run.start && bytes <= LARGE_RUN_MOST)
        __atomic_store_n(&larges.runs_in_fields, true, __ATOMIC_RELAXED);
    return run;
}

/* Whether new memory of a field may be had for such a block. */
static bool large_may_be_fresh(size_t bytes) {
    bool enough = bytes > LARGE_RUN_MOST || superslab_fields_pay(dense_large_units() * UNIT_SIZE);
    return enough && superslab_fields_may_grow() && large_is_known_whole(bytes);
}

struct large *large_new_in_field(size_t bytes, bool *probe, bool *zeroed) {
    bool has = superslab_has_fields(), grows = large_may_be_fresh(bytes);
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

void large_note_run(size_t bytes) {
    favour_take(&larges.lock);
    lengths_note_run(bytes);
    favour_release(&larges.lock);
}

void large_note_longer(size_t bytes, bool plain) {
    bool sparse = huge_known(bytes) == HUGE_SPARSE;
    favour_take(&larges.lock);
    struct lengths_live live = {larges.live, larges.live_peak, larges.keeps_longer};
    lengths_note(bytes, plain, sparse, live);
    favour_release(&larges.lock);
}

void large_note_growth(size_t bytes) {
    if (!lengths_is_counted(bytes))
        return;
    favour_take(&larges.lock);
    lengths_note_growth(bytes);
    favour_release(&larges.lock);
}

void large_keep_longer(bool keep) {
    larges.keeps_longer = keep;
}

static bool large_longer_suits_field(size_t bytes) {
    favour_take(&larges.lock);
    bool open = lengths_suit_fields() && larges.keeps_longer && larges.cache_limit > 0;
    favour_release(&larges.lock);
    return open && bytes <= LARGE_FIELD_MOST && huge_suits(bytes);
}

bool large_suits_field(size_t bytes, bool plain) {
    if (bytes > LARGE_RUN_MOST)
        return plain && large_longer_suits_field(bytes);
    bool served = __atomic_load_n(&larges.runs_in_fields, __ATOMIC_RELAXED) && superslab_has_fields();
    return plain && (large_is_known_whole(bytes) || served);
}
