/* Blocks in fields of superslabs, whose pages are huge: those that are known to be written whole. docs/experiments/fields.md */
#include "large_parts.h"

enum {
    LARGE_SEEN_MOST = 64, /* blocks: then both counts are halved */
    LARGE_SEEN_LEAST = 8,
    LARGE_MIXED_OF = 4,   /* one of so many is of another length: they are mixed */
    LARGE_UNIFORM_OF = 8, /* fewer: they are not any more */
    LARGE_BALANCED_OF = 8 /* longer ones are to be no more than so many parts of the bytes */
};

#define LARGE_BALANCE ((ptrdiff_t)(64 * MIB)) /* further it does not go: that is how soon it turns */
#define LARGE_LONGER_FROM (16 * MIB)          /* of live blocks */

/* One that is as long as those in fields, and waits or was freed last. Under the lock; NULL: there is none. */
static struct large *large_take_unwanted(size_t most) {
    struct large *large = large_take_rested(LARGE_FIELD_LEAST, most);
    return large ? large : large_take_waiting(LARGE_FIELD_LEAST, most, UNIT_SIZE, false);
}

/* New memory has come: as much goes of what would have served instead, but of nothing longer, unless that lies in fields as well; and of
 * what is dirty. */
static void large_make_room(size_t bytes) {
    struct large *out = NULL, *large;
    size_t most = bytes > LARGE_RUN_MOST ? LARGE_FIELD_MOST : bytes;
    favour_take(&larges.lock);
    for (size_t given = 0; given < bytes && (large = large_take_unwanted(most)) != NULL;
         given += large->extent)
        large_push(&out, large);
    favour_release(&larges.lock);
    large_release_all(out);
    superslab_purge_outside(bytes);
}

/* Each so many-th that could be in new memory is a probe; what a huge page fits into tells as a mapping (huge P2). */
static bool large_is_probe(size_t bytes) {
    static _Atomic uint32_t fresh; /* relaxed: a count */
    if (bytes >= HUGE_LEAST)
        return huge_probe_is_due(bytes) || !huge_wants(bytes);
    return atomic_fetch_add_explicit(&fresh, 1, memory_order_relaxed) % DENSE_WATCHES == DENSE_WATCHES - 1;
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
    return run;
}

/* Whether blocks of that length are known to be written whole. */
static bool large_is_known_whole(size_t bytes) {
    return bytes >= HUGE_LEAST ? huge_suits(bytes) : dense_known(DENSE_LARGE) == DENSE_YES;
}

/* Whether new memory of a field may be had for such a block. */
static bool large_may_be_fresh(size_t bytes) {
    bool enough = bytes > LARGE_RUN_MOST || superslab_fields_pay(dense_units_of(DENSE_LARGE) * UNIT_SIZE);
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

/* Two are of one length if the longer one may serve for the other: then what waits does. */
static bool large_is_other(size_t bytes, size_t before) {
    return bytes > before + before / 4 || before > bytes + bytes / 4;
}

static void large_note_mix(bool other) {
    if (larges.longer.seen >= LARGE_SEEN_MOST) {
        larges.longer.seen /= 2;
        larges.longer.others /= 2;
    }
    larges.longer.seen++;
    larges.longer.others += other;
    unsigned of = larges.longer.mixed ? LARGE_UNIFORM_OF : LARGE_MIXED_OF;
    larges.longer.mixed =
        larges.longer.seen >= LARGE_SEEN_LEAST && larges.longer.others * of > larges.longer.seen;
}

static void large_note_balance(ptrdiff_t change) {
    ptrdiff_t balance = larges.longer.balance + change;
    balance = balance < LARGE_BALANCE ? balance : LARGE_BALANCE;
    larges.longer.balance = balance > -LARGE_BALANCE ? balance : -LARGE_BALANCE;
}

static void large_note_longer(size_t bytes, bool plain) {
    if (bytes > LARGE_FIELD_MOST) {
        large_note_balance(-(ptrdiff_t)bytes);
    } else if (plain) {
        large_note_balance((ptrdiff_t)(bytes / LARGE_BALANCED_OF));
        large_note_mix(large_is_other(bytes, larges.longer.last));
        larges.longer.last = bytes;
    }
}

/* As runs and mappings they are few, or found again: docs/experiments/fields.md */
static bool large_longer_suits_field(size_t bytes, bool plain) {
    favour_take(&larges.lock);
    large_note_longer(bytes, plain);
    size_t live = larges.live_peak;
    larges.longer.enough |= live + superslab_field_used() >= LARGE_LONGER_FROM && superslab_fields_pay(live);
    bool many =
        larges.longer.enough && larges.longer.mixed && larges.longer.balance > 0 && larges.cache_limit > 0;
    favour_release(&larges.lock);
    return plain && many && bytes <= LARGE_FIELD_MOST && large_is_known_whole(bytes);
}

bool large_suits_field(size_t bytes, bool plain) {
    if (bytes > LARGE_RUN_MOST)
        return large_longer_suits_field(bytes, plain);
    return plain && bytes >= LARGE_FIELD_LEAST && (large_is_known_whole(bytes) || superslab_has_fields());
}
