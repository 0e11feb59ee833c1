/* Fields: neighbouring superslabs in huge pages, for large blocks that are written whole. docs/experiments/fields.md */
#include "superslab_parts.h"

#include "os.h"

enum {
    FIELD_SUPERSLABS = 16, /* 64 MiB of addresses */
    FIELDS_MOST = 32,
    OUTSIDE_LOOKS = 64, /* superslabs in one search */
    ROOM_CALLS = 8      /* pieces of advice where new memory comes */
};

/* The first superslab of each. */
SPARSE static struct superslab *superslab_fields[FIELDS_MOST];

/* The shortest run that is long enough. */
struct superslab_gap {
    struct superslab *home; /* where it begins */
    unsigned from, units;
};

/* The units of a run that lie in one superslab, *from being counted from the start of *home; *home is that one then, and *from and
 * *units what is left. */
static uint64_t superslab_piece(struct superslab **home, unsigned *from, unsigned *units) {
    for (; *from >= SUPERSLAB_UNITS; *from -= SUPERSLAB_UNITS)
        *home = (*home)->beside;
    unsigned some = SUPERSLAB_UNITS - *from < *units ? SUPERSLAB_UNITS - *from : *units;
    uint64_t mask = superslab_mask(*from, some);
    *from += some;
    *units -= some;
    return mask;
}

static void superslab_set_no_more(bool none) {
    __atomic_store_n(&superslabs.no_more_fields, none, __ATOMIC_RELAXED);
}

void superslab_return_pieces(struct superslab *home, unsigned from, unsigned units, bool full) {
    while (units > 0) {
        uint64_t mask = superslab_piece(&home, &from, &units);
        superslab_return_used(home, mask, full);
        superslab_add(&superslabs.field_used, -(size_t)bits_count(mask));
    }
    if (superslabs.field_used < superslabs.field_units / 2)
        superslab_set_no_more(false);
}

/* Free units that may be handed out; if none that is `fresh` may, those of huge pages that are there. */
static uint64_t superslab_may_take(const struct superslab *home, bool fresh) {
    return home->free & (fresh ? ~0ULL : superslab_begun(home) & ~home->absent);
}

/* Bits of a kind that lie side by side from the lowest one on, of `left`. */
static unsigned superslab_same(uint64_t bits, unsigned left) {
    uint64_t others = bits & 1 ? ~bits : bits;
    unsigned same = others ? bits_lowest(others) : left;
    return same < left ? same : left;
}

static void superslab_consider(struct superslab_gap *best, const struct superslab_gap *gap, unsigned units) {
    if (gap->units >= units && (!best->home || gap->units < best->units))
        *best = *gap;
}

static bool superslab_is_exact(const struct superslab_gap *gap, unsigned units) {
    return gap->home && gap->units == units;
}

static void superslab_look_through(struct superslab *home, unsigned units, bool fresh,
                                   struct superslab_gap *best) {
    struct superslab_gap gap = {0};
    for (; home && !superslab_is_exact(best, units); home = home->beside) {
        uint64_t free = superslab_may_take(home, fresh);
        for (unsigned at = 0, same; at < SUPERSLAB_UNITS; at += same) {
            same = superslab_same(free >> at, SUPERSLAB_UNITS - at);
            if (free >> at & 1) {
                gap = gap.units > 0 ? gap : (struct superslab_gap){.home = home, .from = at};
                gap.units += same;
            } else {
                superslab_consider(best, &gap, units);
                gap.units = 0;
            }
        }
    }
    superslab_consider(best, &gap, units);
}

static struct superslab_gap superslab_find_gap(unsigned units, bool fresh) {
    struct superslab_gap best = {0};
    for (unsigned field = 0; field < superslabs.fields && !superslab_is_exact(&best, units); field++)
        superslab_look_through(superslab_fields[field], units, fresh, &best);
    return best;
}

static void superslab_set_fields(uint32_t fields) {
    __atomic_store_n(&superslabs.fields, fields, __ATOMIC_RELAXED);
}

/* Enters a mapping as the next field; returns how much of it. The rest is unmapped. */
static size_t superslab_enter_field(unsigned char *start, size_t bytes) {
    struct superslab **next = &superslab_fields[superslabs.fields];
    size_t entered = 0;
    for (struct superslab *made; entered < bytes; entered += SUPERSLAB_UNITS * (size_t)UNIT_SIZE) {
        made = superslab_new_in_field(start + entered);
        if (!made)
            break;
        *next = made;
        next = &made->beside;
    }
    if (entered < bytes)
        os_unmap(start + entered, bytes - entered);
    return entered;
}

/* Where addresses are few none are kept for later. What could not be had once is not asked for again until a field goes, or half of
 * them are free. */
static bool superslab_map_field(void) {
    size_t size = SUPERSLAB_UNITS * (size_t)UNIT_SIZE, bytes = FIELD_SUPERSLABS * size;
    if (superslabs.no_more_fields)
        return false;
    if (superslabs.count == 0)
        superslab_prepare();
    bool may = superslabs.fields < FIELDS_MOST && !superslabs.asks_nothing && !os_addresses_are_few();
    unsigned char *start = may ? os_map_aligned(bytes, size, pagemap_hint_superslab(bytes, size)) : NULL;
    if (start) {
        os_name(start, bytes, OS_SLABS);
        os_advise(start, bytes, OS_HUGE);
    }
    bool made = start && superslab_enter_field(start, bytes) > 0;
    superslab_set_fields(superslabs.fields + made);
    superslab_set_no_more(!made);
    return made;
}

/* How many units of a gap hold no memory yet. */
static unsigned superslab_count_cold(const struct superslab_gap *gap, unsigned units) {
    struct superslab *home = gap->home;
    unsigned cold = 0;
    for (unsigned from = gap->from; units > 0;) {
        uint64_t mask = superslab_piece(&home, &from, &units);
        cold += bits_count(mask & ~home->dirty);
    }
    return cold;
}

/* Of a gap, from its beginning on, if the limit allows. */
static struct superslab_run superslab_take_of_gap(const struct superslab_gap *gap, unsigned units) {
    struct superslab *home = gap->home;
    if (!limit_take((size_t)superslab_count_cold(gap, units) * UNIT_SIZE))
        return (struct superslab_run){0};
    struct superslab_run run = {
        .start = home->start + (size_t)gap->from * UNIT_SIZE, .home = home, .units = units, .zeroed = true};
    for (unsigned from = gap->from, left = units; left > 0;) {
        uint64_t mask = superslab_piece(&home, &from, &left);
        run.zeroed &= superslab_hand_out(home, mask);
    }
    superslab_add(&superslabs.field_used, units);
    return run;
}

struct superslab_run superslab_take_field(unsigned units, bool fresh) {
    struct superslab_run run = {0};
    lock_take(&superslabs.lock);
    struct superslab_gap gap = superslab_find_gap(units, fresh);
    if (!gap.home && fresh && superslab_map_field())
        gap = superslab_find_gap(units, fresh);
    if (gap.home)
        run = superslab_take_of_gap(&gap, units);
    lock_release(&superslabs.lock);
    return run;
}

bool superslab_has_fields(void) {
    return __atomic_load_n(&superslabs.fields, __ATOMIC_RELAXED) > 0;
}

size_t superslab_field_used(void) {
    return __atomic_load_n(&superslabs.field_used, __ATOMIC_RELAXED) * UNIT_SIZE;
}

bool superslab_fields_pay(size_t outside) {
    return superslab_field_used() + outside >= superslabs.huge_from;
}

bool superslab_fields_may_grow(void) {
    return !__atomic_load_n(&superslabs.no_more_fields, __ATOMIC_RELAXED);
}

static bool superslab_field_is_free(const struct superslab *home) {
    while (home && home->free == ~0ULL && home != superslabs.packing)
        home = home->beside;
    return !home;
}

/* Claims all of a field; what it holds counts as held, as it goes as a whole. */
static size_t superslab_claim_field(struct superslab *home) {
    size_t bytes = 0;
    for (; home; home = home->beside, bytes += SUPERSLAB_UNITS * (size_t)UNIT_SIZE) {
        limit_hold((size_t)bits_count(home->free & ~home->dirty) * UNIT_SIZE);
        superslab_claim(home, home->free);
    }
    return bytes;
}

/* The field is no more, or, if it could not be unmapped, free again. */
static void superslab_end_field(struct superslab *home, bool gone) {
    for (struct superslab *beside; home; home = beside) {
        beside = home->beside;
        if (gone)
            superslab_vacate(home);
        else
            superslab_return(home, ~0ULL);
    }
}

static void superslab_forget_field(const struct superslab *first) {
    for (unsigned field = 0; field < superslabs.fields; field++)
        if (superslab_fields[field] == first) {
            superslab_fields[field] = superslab_fields[superslabs.fields - 1];
            superslab_set_fields(superslabs.fields - 1);
        }
    superslab_set_no_more(false);
}

size_t superslab_unmap_fields(void) {
    size_t unmapped = 0;
    for (unsigned looks = superslabs.fields, field = 0; looks > 0 && field < superslabs.fields; looks--) {
        struct superslab *first = superslab_fields[field];
        if (!superslab_field_is_free(first)) {
            field++;
            continue;
        }
        size_t bytes = superslab_claim_field(first);
        lock_release(&superslabs.lock);
        bool gone = pagemap_unmap(first->start, bytes); /* P4: claimed above */
        lock_take(&superslabs.lock);
        if (gone)
            superslab_forget_field(first);
        superslab_end_field(first, gone);
        field += !gone;
        unmapped += gone ? bytes : 0;
    }
    return unmapped;
}

/* ---- what is dirty there, and elsewhere ---- */

/* One that has dirty units of the kind, of the next few; NULL: none of these has. */
static struct superslab *superslab_next_outside(void) {
    for (unsigned looks = 0; looks < OUTSIDE_LOOKS && superslabs.purge_from > 0; looks++) {
        uint32_t number = superslabs.outside_from;
        if (number >= superslabs.purge_from)
            number = 0;
        superslabs.outside_from = number + 1;
        struct superslab *home = *superslab_at(number);
        if (home->dirty && !home->field)
            return home;
    }
    return NULL;
}

static struct superslab *superslab_next_in_fields(void) {
    for (unsigned field = 0; field < superslabs.fields; field++)
        for (struct superslab *home = superslab_fields[field]; home; home = home->beside)
            if (home->dirty)
                return home;
    return NULL;
}

size_t superslab_make_room(bool in_fields, size_t bytes) {
    size_t all = 0;
    for (unsigned calls = 0; calls < ROOM_CALLS && all < bytes; calls++) {
        struct superslab *home = in_fields ? superslab_next_in_fields() : superslab_next_outside();
        size_t gone = home ? superslab_purge_one(home) : 0;
        if (gone == 0)
            break;
        all += gone;
    }
    return all;
}

void superslab_purge_outside(size_t bytes) {
    lock_take(&superslabs.lock);
    superslab_make_room(false, bytes);
    lock_release(&superslabs.lock);
}

size_t superslab_purge_fields(size_t bytes) {
    if (!superslab_has_fields())
        return 0;
    lock_take(&superslabs.lock);
    size_t gone = superslab_make_room(true, bytes);
    lock_release(&superslabs.lock);
    return gone;
}
