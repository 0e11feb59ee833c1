#include "superslab_parts.h"

#include "dense.h"
#include "metadata.h"
#include "os.h"

#define SUPERSLAB_SIZE ((size_t)SUPERSLAB_UNITS * UNIT_SIZE)
enum {
    TABLE_SIZE = 1 << 18, /* superslabs: 1 TiB */
    GROUPS = TABLE_SIZE / GROUP,
    GROW_LARGEST = 64, /* superslabs in one mapping */
    ROOM_EACH = 128,   /* units in use for each area that is begun for a run that will grow */
    WARM_LOOKS = 16,   /* superslabs in one search */
    KEPT_MIXED = 12,   /* sixteenths of what is dirty below the peak, if blocks are not written whole */
    KEPT_SORTED = 14   /* ... and those that are, a quarter at least, lie apart */
};

/* Bytes in use from which on all of a heap gets huge pages, if it is dense: below, the last one weighs too much where not all is used. */
#define WHOLE_FROM (12 * MIB)

_Static_assert(GROUPS / 64 <= 64, "one word sums up the middle");

/* Every sixteenth unit: where longest runs lie side by side. */
#define APART 0x0001000100010001ULL

bool superslab_has_huge;
struct superslabs superslabs = {.lock = LOCK_INITIAL(5), .decommit = true, .huge_from = SIZE_MAX};

/* But for the first one, which lies with what is written anyway. Apart, because they start as zeros: they take no room in the file
 * and no page until they are used. docs/experiments/peak-rss.md */
SPARSE static struct superslab_group superslab_groups[GROUPS];

/* Two levels of sums above the sets: of a group's, a bit; of sixty-four groups', a bit. */
SPARSE static uint64_t superslab_fit_middle[GROUPS / 64][LENGTHS];
static uint64_t superslab_fit_low[LENGTHS]; /* the first row of those */
static uint64_t superslab_fit_top[LENGTHS];

/* The same sets and sums of the superslabs in huge pages, which a small heap has none of. */
SPARSE static struct {
    uint64_t top[LENGTHS], middle[GROUPS / 64][LENGTHS], fit[GROUPS][LENGTHS];
} superslab_huge;

static struct superslab_group *superslab_group(uint32_t group) {
    return group == 0 ? &superslabs.first : &superslab_groups[group];
}

struct superslab **superslab_at(uint32_t number) {
    return &superslab_group(number / GROUP)->member[number % GROUP];
}

static uint64_t *superslab_fit(uint32_t group, bool huge) {
    return huge ? superslab_huge.fit[group] : superslab_group(group)->fit;
}

static uint64_t *superslab_middle(uint32_t row, bool huge) {
    return huge ? superslab_huge.middle[row] : row == 0 ? superslab_fit_low : superslab_fit_middle[row];
}

static uint64_t *superslab_top(bool huge) {
    return huge ? superslab_huge.top : superslab_fit_top;
}

static void superslab_fit_put(const struct superslab *home, unsigned units, bool member) {
    unsigned length = units - 1;
    uint32_t number = home->number;
    uint64_t *bits = &superslab_fit(number / GROUP, home->huge)[length],
             *middle = &superslab_middle(number / GROUP / 64, home->huge)[length],
             *top = &superslab_top(home->huge)[length];
    uint64_t bit = 1ULL << number % 64, middle_bit = 1ULL << number / 64 % 64,
             top_bit = 1ULL << number / 64 / 64;
    *bits = member ? *bits | bit : *bits & ~bit;
    *middle = *bits ? *middle | middle_bit : *middle & ~middle_bit;
    *top = *middle ? *top | top_bit : *top & ~top_bit;
}

/* The lowest superslab of one kind with a free run of `units`, NULL if there is none. */
static struct superslab *superslab_find_kind(unsigned units, bool huge) {
    unsigned length = units - 1;
    if ((huge && !superslab_has_huge) || superslab_top(huge)[length] == 0)
        return NULL;
    unsigned high = bits_lowest(superslab_top(huge)[length]);
    unsigned middle = high * 64 + bits_lowest(superslab_middle(high, huge)[length]);
    return superslab_group(middle)->member[bits_lowest(superslab_fit(middle, huge)[length])];
}

static struct superslab *superslab_find(unsigned units) {
    struct superslab *small = superslab_find_kind(units, false), *huge = superslab_find_kind(units, true);
    return small && (!huge || small->number < huge->number) ? small : huge;
}

/* Bits at which a run of `units` set bits begins. */
static uint64_t superslab_run_starts(uint64_t bits, unsigned units) {
    for (unsigned have = 1; have < units && bits;) {
        unsigned step = have < units - have ? have : units - have;
        bits &= bits >> step;
        have += step;
    }
    return bits;
}

/* At most SUPERSLAB_RUN_LARGEST, which it mostly is where much is free: then four steps find it. */
static unsigned superslab_longest(uint64_t bits) {
    uint64_t two = bits & bits >> 1, four = two & two >> 2, eight = four & four >> 4;
    _Static_assert(SUPERSLAB_RUN_LARGEST == 16, "twice eight");
    if (eight & eight >> 8)
        return SUPERSLAB_RUN_LARGEST;
    unsigned longest = 0;
    for (; bits; longest++)
        bits &= bits << 1;
    return longest;
}

/* Brings the sets of fits up to date after a change of home->free. */
static void superslab_refile(struct superslab *home) {
    unsigned longest = home->field ? 0 : superslab_longest(home->free);
    for (unsigned units = home->longest + 1; units <= longest; units++)
        superslab_fit_put(home, units, true);
    for (unsigned units = longest + 1; units <= home->longest; units++)
        superslab_fit_put(home, units, false);
    home->longest = longest;
}

static void superslab_count_dirty(uint64_t before, uint64_t after) {
    superslab_add(&superslabs.dirty_units, (size_t)bits_count(after) - bits_count(before));
    /* What stays is dirty, or what is given back in place of it would call nobody. */
    if (superslabs.staying_units > superslabs.dirty_units)
        superslab_add(&superslabs.staying_units, superslabs.dirty_units - superslabs.staying_units);
}

bool superslab_may_hold(const struct superslab *home, uint64_t mask) {
    return limit_take((size_t)bits_count(mask & ~home->dirty) * UNIT_SIZE);
}

bool superslab_claim(struct superslab *home, uint64_t mask) {
    ASSERT(P1, (home->free & mask) == mask);
    bool zeroed = ((home->dirty | home->stale) & mask) == 0;
    superslab_count_dirty(home->dirty, home->dirty & ~mask);
    home->free &= ~mask;
    home->dirty &= ~mask;
    home->stale &= ~mask;
    home->absent &= ~mask;
    superslab_add(&superslabs.free_units, -(size_t)bits_count(mask));
    ASSERT(P2, ((home->dirty | home->stale | home->absent) & ~home->free) == 0);
    superslab_refile(home);
    return zeroed;
}

static struct superslab *superslab_new_record(void) {
    struct superslab *record = superslabs.vacant;
    if (record) {
        superslabs.vacant = record->next_vacant;
        return record;
    }
    if (superslabs.count == TABLE_SIZE)
        return NULL;
    record = metadata_new(sizeof(struct superslab));
    if (record) {
        record->number = superslabs.count;
        *superslab_at(superslabs.count++) = record;
    }
    return record;
}

static struct superslab *superslab_enter(unsigned char *start, unsigned units, bool huge) {
    struct superslab *made = pagemap_reserve(start, units) ? superslab_new_record() : NULL;
    if (!made)
        return NULL;
    made->start = start;
    made->units = units;
    made->huge = huge;
    if (huge)
        __atomic_store_n(&superslab_has_huge, true, __ATOMIC_RELAXED);
    made->calm = made->packed = made->rests = 0;
    made->absent = 0;
    made->free = superslab_mask(0, units);
    superslab_add(&superslabs.mapped_units, units);
    superslab_add(&superslabs.free_units, units);
    superslab_refile(made);
    return made;
}

struct superslab *superslab_new_in_field(unsigned char *start) {
    struct superslab *made = superslab_enter(start, SUPERSLAB_UNITS, true);
    if (!made)
        return NULL;
    made->field = true;
    made->beside = NULL;
    superslab_refile(made);
    superslabs.field_units += SUPERSLAB_UNITS;
    return made;
}

void superslab_vacate(struct superslab *home) {
    limit_give((size_t)home->units * UNIT_SIZE);
    superslab_add(&superslabs.mapped_units, -(size_t)home->units);
    home->start = NULL;
    superslabs.field_units -= home->field ? home->units : 0;
    home->field = false;
    home->next_vacant = superslabs.vacant;
    superslabs.vacant = home;
}

/* What is not of fields, which have a rule of their own. */
static size_t superslab_mapped(void) {
    return superslabs.mapped_units - superslabs.field_units;
}

static size_t superslab_used(void) {
    size_t idle = superslabs.free_units + superslabs.field_used +
                  __atomic_load_n(&superslabs.waiting_units, __ATOMIC_RELAXED);
    return superslabs.mapped_units > idle ? superslabs.mapped_units - idle : 0;
}

static size_t superslab_large_from(void) {
    size_t from = superslabs.huge_from;
    return from < WHOLE_FROM ? WHOLE_FROM : from;
}

static bool superslab_is_large(void) {
    return superslab_used() * UNIT_SIZE >= superslab_large_from();
}

/* Huge pages pay in a heap that is large, most of which has been touched. docs/experiments/huge-pages.md */
static bool superslab_is_large_and_dense(size_t whole) {
    return superslab_is_large() && whole >= superslab_used() / 2;
}

static bool superslab_wants_huge(void) {
    bool wanted = superslabs.huge_from == 0 || superslab_is_large_and_dense(dense_units(false));
    return wanted && limit_may_split();
}

bool superslab_wants_packs(void) {
    return (superslabs.huge_from == 0 || superslabs.sorts || superslab_is_large()) && limit_may_split() &&
           !limit_near();
}

/* Three quarters of what is mapped are in use, and so will be what is mapped from here on: a page that is faulted whole is also used
 * whole. */
static ALWAYS_INLINE bool superslab_is_full(void) {
    return superslab_used() >= superslab_mapped() / 4 * 3;
}

static bool superslab_grows_huge(void) {
    return (superslabs.huge_from == 0 || superslab_is_full()) && superslab_wants_huge();
}

/* Whether new address space for such a run is to have huge pages, where that of most of the heap would have them if `usual`. */
static bool superslab_grows_huge_for(enum superslab_use use, bool usual) {
    if (use == SUPERSLAB_SPARSE)
        return usual && superslabs.huge_from == 0;
    return usual || (use == SUPERSLAB_FILLS && superslabs.sorts && superslab_may_sort());
}

/* Only small pages tell how blocks are written. */
static bool superslab_wants_to_learn(void) {
    return superslab_is_full() && superslab_is_large_and_dense(dense_units(true)) && !superslab_grows_huge();
}

void superslab_prepare(void) {
    enum os_huge huge = os_huge_pages();
    if (huge == OS_HUGE_NEVER) /* or memory would stay for the sake of huge pages that there are none of */
        superslabs.huge_from = SIZE_MAX;
    superslabs.keep_small = huge == OS_HUGE_UNASKED;
    if (!superslabs.keep_small)
        return;
    os_keep_small(superslab_groups, sizeof superslab_groups);
    pagemap_prepare();
}

static COLD bool superslab_map(size_t count, bool huge) {
    size_t bytes = count * SUPERSLAB_SIZE;
    unsigned char *start =
        os_map_aligned(bytes, SUPERSLAB_SIZE, pagemap_hint_superslab(bytes, SUPERSLAB_SIZE));
    if (!start)
        return false;
    os_name(start, bytes, OS_SLABS);
    if (huge)
        os_advise(start, bytes, OS_HUGE);
    else if (superslabs.keep_small)
        os_advise(start, bytes, OS_SMALL);
    size_t entered = 0;
    while (entered < count && superslab_enter(start + entered * SUPERSLAB_SIZE, SUPERSLAB_UNITS, huge))
        entered++;
    if (entered < count)
        os_unmap(start + entered * SUPERSLAB_SIZE, bytes - entered * SUPERSLAB_SIZE);
    return entered > 0;
}

/* Little address space is left: a superslab of only a few units. */
static bool superslab_map_piece(unsigned units) {
    size_t bytes = (size_t)units * UNIT_SIZE;
    unsigned char *start = os_map_aligned(bytes, UNIT_SIZE, NULL);
    if (!start)
        return false;
    os_name(start, bytes, OS_SLABS);
    if (superslab_enter(start, units, false))
        return true;
    os_unmap(start, bytes);
    return false;
}

bool superslab_may_sort(void) {
    return dense_units(false) >= superslabs.huge_from / UNIT_SIZE && limit_may_split();
}

/* Sorting takes more addresses. Where they are few it ends for good; each takes what there is. */
static void superslab_mix(void) {
    superslabs.mixes = true;
    __atomic_store_n(&superslabs.sorts, false, __ATOMIC_RELAXED);
}

/* Where no superslab is to be had: what lies apart serves all, and then pieces. Out of line, as it is seldom needed. */
static NOINLINE bool superslab_make_do(unsigned units) {
    if (superslabs.sorts) {
        superslab_mix();
        if (superslab_find(units))
            return true;
    }
    for (unsigned piece = SUPERSLAB_UNITS / 4; piece > units; piece /= 2)
        if (superslab_map_piece(piece))
            return true;
    return superslab_map_piece(units);
}

/* Maps address space for a run of `units`: half as much again as there is, or what can still be had; for what lies apart from most of the heap, or while
 * much of that is free, no more than it needs. */
static COLD bool superslab_grow(unsigned units, enum superslab_use use) {
    if (superslabs.count == 0)
        superslab_prepare();
    bool usual = superslab_grows_huge(), huge = superslab_grows_huge_for(use, usual),
         apart = huge != usual || (superslabs.sorts && !superslab_is_full());
    size_t count = superslab_mapped() / 2 / SUPERSLAB_UNITS;
    count = count < 1 || apart || superslab_wants_to_learn() ? 1
            : count > GROW_LARGEST                           ? GROW_LARGEST
                                                             : count;
    for (; count >= 1; count /= 2)
        if (superslab_map(count, huge))
            return true;
    return superslab_make_do(units);
}

uint64_t superslab_begun(const struct superslab *home) {
    uint64_t held = ~home->free | home->dirty, begun = 0;
    for (unsigned area = 0; area < SUPERSLAB_UNITS / AREA_UNITS; area++) {
        uint64_t all = superslab_mask(area * AREA_UNITS, AREA_UNITS);
        begun |= held & all ? all : 0;
    }
    return begun;
}

/* With huge pages from the first byte on few areas are begun only to have room there, one and another for each ROOM_EACH units in use; else none, as
 * there is room in small pages. docs/experiments/huge-pages.md, growing-runs.md */
static bool superslab_may_begin(void) {
    return superslabs.huge_from == 0 &&
           superslabs.begun_for_room * ROOM_EACH <= superslabs.mapped_units - superslabs.free_units;
}

/* Where a run that will grow may begin: where a longest run is free, the next one that will grow out of its way. In huge pages an area that is begun
 * is in memory as a whole. */
static uint64_t superslab_roomy(const struct superslab *home) {
    uint64_t roomy = superslab_run_starts(home->free, SUPERSLAB_RUN_LARGEST), apart = roomy & APART;
    if (!home->huge)
        return apart ? apart : roomy;
    uint64_t begun = apart & superslab_begun(home);
    return begun || !superslab_may_begin() ? begun : apart;
}

/* Where a run of `units` may begin, given back lately if there is such a place. */
static unsigned superslab_place(const struct superslab *home, unsigned units, bool grows) {
    uint64_t places = superslab_run_starts(home->free, units), roomy = grows ? superslab_roomy(home) : 0;
    if (roomy)
        places = roomy;
    uint64_t warm = superslab_run_starts(home->dirty, units) & places;
    return bits_lowest(warm ? warm : places);
}

/* True where a run of `units` in it would be in memory already. */
static bool superslab_is_warm(const struct superslab *home, unsigned units) {
    return home && superslab_run_starts(home->dirty, units);
}

/* Each among its own, the one in huge pages, the other in small ones; but first what is in memory. NULL: new address space is better
 * than what there is. docs/experiments/huge-pages.md */
static NOINLINE struct superslab *superslab_find_sorted(unsigned units, enum superslab_use use) {
    bool fills = use == SUPERSLAB_FILLS;
    struct superslab *own = superslab_find_kind(units, fills), *other = superslab_find_kind(units, !fills);
    if (!superslab_is_warm(own, units) && superslab_is_warm(other, units))
        return other;
    bool may_mix = fills ? !superslab_may_sort() : use != SUPERSLAB_SPARSE && superslab_wants_huge();
    return own || !may_mix ? own : other;
}

/* A superslab with a free run of `units`, if one suits. */
static struct superslab *superslab_find_for(unsigned units, enum superslab_use use) {
    return superslabs.sorts ? superslab_find_sorted(units, use) : superslab_find(units);
}

/* ... of new address space if there is none, and any if there is no more. */
static struct superslab *superslab_find_or_grow(unsigned units, enum superslab_use use) {
    struct superslab *home = superslab_find_for(units, use);
    if (home)
        return home;
    home = superslab_grow(units, use) ? superslab_find_kind(units, use == SUPERSLAB_FILLS) : NULL;
    return home ? home : superslab_find(units);
}

/* Address space for runs that grow is getting short. */
static bool superslab_has_little_room(void) {
    return superslabs.free_units + superslabs.field_used - superslabs.field_units < superslab_mapped() / 2;
}

/* One in which a run can grow, where huge pages come from the first byte on. */
static struct superslab *superslab_find_roomy_huge(void) {
    return superslab_has_little_room() && superslab_may_begin()
               ? superslab_find_or_grow(SUPERSLAB_RUN_LARGEST, SUPERSLAB_MIXED)
               : superslab_find_for(SUPERSLAB_RUN_LARGEST, SUPERSLAB_MIXED);
}

/* More of it, in small pages; beside huge ones no more than that. */
static bool superslab_grow_room(void) {
    return superslab_has_huge ? superslab_map(1, false)
                              : superslab_grow(SUPERSLAB_RUN_LARGEST, SUPERSLAB_SPARSE);
}

/* The same everywhere, if it is there or address space is getting short anyway: else in small pages, where room costs addresses only. */
static struct superslab *superslab_find_roomy(void) {
    if (superslabs.huge_from == 0)
        return superslab_find_roomy_huge();
    struct superslab *home = superslab_find_kind(SUPERSLAB_RUN_LARGEST, false);
    if (!home && superslab_has_little_room() && superslab_grow_room())
        home = superslab_find_kind(SUPERSLAB_RUN_LARGEST, false);
    return home ? home : superslab_find_kind(SUPERSLAB_RUN_LARGEST, true);
}

/* Hands out units from `from` on, if the limit allows. Under the lock, as the next ones are. */
static struct superslab_run superslab_hand_out_run(struct superslab *home, unsigned from, unsigned units) {
    struct superslab_run run = {0};
    uint64_t mask = superslab_mask(from, units);
    if (superslab_may_hold(home, mask)) {
        run.start = home->start + (size_t)from * UNIT_SIZE;
        run.home = home;
        run.units = units;
        run.full = superslabs.decommit && (home->full & home->dirty & mask) != 0;
        run.zeroed = superslab_hand_out(home, mask);
    }
    return run;
}

static struct superslab_run superslab_take_run(unsigned units, enum superslab_use use, bool grows) {
    struct superslab_run run = {0};
    struct superslab *home = grows ? superslab_find_roomy() : NULL;
    if (!home || !superslab_roomy(home))
        home = superslab_find_or_grow(units, use);
    if (home) {
        unsigned from = superslab_place(home, units, grows);
        bool begins = grows && superslabs.huge_from == 0 && !(superslab_begun(home) >> from & 1);
        run = superslab_hand_out_run(home, from, units);
        superslabs.begun_for_room += begins && run.start;
    }
    return run;
}

/* The longest run of dirty units, of `most` at most, in the next superslab that has one of `least`. */
static NOINLINE struct superslab_run superslab_take_warm(unsigned least, unsigned most) {
    uint32_t end = superslabs.purge_from, looks = end < WARM_LOOKS ? end : WARM_LOOKS;
    for (; looks > 0; looks--, superslabs.warm_from++) {
        superslabs.warm_from = superslabs.warm_from < end ? superslabs.warm_from : 0;
        struct superslab *home = *superslab_at(superslabs.warm_from);
        for (unsigned units = home->dirty ? most : 0; units >= least; units--) {
            uint64_t places = superslab_run_starts(home->dirty, units);
            if (!places)
                continue;
            struct superslab_run run = superslab_hand_out_run(home, bits_lowest(places), units);
            superslab_add(&superslabs.field_used, run.start && home->field ? units : 0);
            return run;
        }
    }
    return (struct superslab_run){0};
}

/* From now on what fills its pages and what does not lie apart, if there are addresses enough. */
static void superslab_sort(void) {
    if (!superslabs.asks_nothing && os_addresses_are_few())
        superslab_mix();
    else
        __atomic_store_n(&superslabs.sorts, true, __ATOMIC_RELAXED);
}

/* The same where `most` units of the first would come in small pages for the second's
 * sake; but as long as some are dirty anywhere, those are taken first. A small process never comes here. */
static NOINLINE struct superslab_run superslab_take_warm_or_sort(unsigned least, unsigned most) {
    struct superslab_run run = {0};
    const struct superslab *home = superslab_find(most);
    bool comes_small = home ? !home->huge && !superslab_is_warm(home, most) : !superslab_grows_huge();
    if (!comes_small || superslabs.mixes)
        return run;
    if (superslabs.dirty_units > 0)
        run = superslab_take_warm(least, most);
    if (!run.start)
        superslab_sort();
    return run;
}

/* The same where what is sparse would come in huge pages for the others' sake; what is new is not. docs/experiments/hardly-touched.md */
static NOINLINE void superslab_sort_for_sparse(unsigned units) {
    const struct superslab *home = superslab_find(units);
    bool comes_huge = home && home->huge && !superslab_is_warm(home, units);
    if (comes_huge && !superslabs.mixes && superslabs.huge_from > 0)
        superslab_sort();
}

/* True when a run of `units` would be of memory that nobody has touched, or not much, while dirty ones lie elsewhere. */
static bool superslab_is_cold(unsigned units, enum superslab_use use) {
    return superslabs.dirty_units > 0 && !superslab_is_warm(superslab_find_for(units, use), units);
}

/* Once a run is taken: where addresses were mapped for it what is dirty in fields would stay beside it. */
static inline void superslab_end_growth(size_t mapped_before) {
    if (UNLIKELY(superslabs.fields > 0 && superslabs.mapped_units > mapped_before))
        superslab_make_room(true, (superslabs.mapped_units - mapped_before) * UNIT_SIZE);
}

struct superslab_run superslab_take_some(unsigned least, unsigned most, enum superslab_use use) {
    struct superslab_run run = {0};
    bool waited = lock_take(&superslabs.lock);
    size_t mapped = superslabs.mapped_units;
    if ((least < most || superslabs.fields > 0) && superslab_is_cold(most, use))
        run = superslab_take_warm(least, most);
    if (!run.start && use == SUPERSLAB_FILLS && !superslabs.sorts && superslab_may_sort())
        run = superslab_take_warm_or_sort(least, most);
    if (!run.start && use == SUPERSLAB_SPARSE && superslab_has_huge && !superslabs.sorts)
        superslab_sort_for_sparse(most);
    if (!run.start)
        run = superslab_take_run(most, use, false);
    superslab_end_growth(mapped);
    lock_release(&superslabs.lock);
    run.waited = waited;
    return run;
}

/* Of one superslab, and at once: as many as lie in what is dirty there. */
unsigned superslab_take_more(struct superslab_run *runs, unsigned count, unsigned units,
                             enum superslab_use use) {
    unsigned have = 0;
    lock_take(&superslabs.lock);
    struct superslab *home = superslab_find_for(units, use);
    uint64_t left = home ? home->dirty : 0, places;
    for (; have < count && (places = superslab_run_starts(left, units)) != 0; have++) {
        unsigned from = bits_lowest(places);
        uint64_t mask = superslab_mask(from, units);
        runs[have] = (struct superslab_run){.start = home->start + (size_t)from * UNIT_SIZE,
                                            .home = home,
                                            .units = units,
                                            .full = superslabs.decommit && (home->full & mask) != 0};
        left &= ~mask;
    }
    if (have > 0)
        superslab_hand_out(home, home->dirty & ~left);
    lock_release(&superslabs.lock);
    return have;
}

struct superslab_run superslab_take(unsigned units, enum superslab_use use) {
    return superslab_take_some(units, units, use);
}

struct superslab_run superslab_take_roomy(unsigned units) {
    lock_take(&superslabs.lock);
    struct superslab_run run = superslab_take_run(units, SUPERSLAB_MIXED, true);
    lock_release(&superslabs.lock);
    return run;
}

void superslab_return(struct superslab *home, uint64_t mask) {
    ASSERT(P1, (home->free & mask) == 0);
    superslab_count_dirty(home->dirty, home->dirty | mask);
    home->free |= mask;
    home->dirty |= mask;
    home->recent = home->look == superslabs.look ? home->recent | mask : mask;
    home->look = superslabs.look;
    superslab_add(&superslabs.free_units, bits_count(mask));
    if (superslabs.purge_from <= home->number)
        superslabs.purge_from = home->number + 1;
    superslab_refile(home);
}

void superslab_return_used(struct superslab *home, uint64_t mask, bool full) {
    superslab_return(home, mask);
    home->full = full ? home->full | mask : home->full & ~mask;
}

NOINLINE bool superslab_give_run(struct superslab *home, const void *start, unsigned units, bool full) {
    unsigned from = superslab_unit_of(home, start);
    bool waited = lock_take(&superslabs.lock);
    if (UNLIKELY(home->field))
        superslab_return_pieces(home, from, units, full);
    else
        superslab_return_used(home, superslab_mask(from, units), full);
    lock_release(&superslabs.lock);
    return waited;
}

/* How many of the runs, the first among them, come back at once: of one superslab, and alike. */
static unsigned superslab_alike(const struct superslab_run *runs, unsigned count, uint64_t *mask) {
    unsigned alike = 0;
    *mask = 0;
    do
        *mask |= superslab_mask(superslab_unit_of(runs->home, runs[alike].start), runs[alike].units);
    while (++alike < count && runs[alike].home == runs->home && runs[alike].full == runs->full);
    return alike;
}

bool superslab_give_runs(const struct superslab_run *runs, unsigned count) {
    bool waited = lock_take(&superslabs.lock);
    for (unsigned alike; count > 0; runs += alike, count -= alike) {
        struct superslab *home = runs->home;
        uint64_t mask;
        alike = 1;
        if (UNLIKELY(home->field)) {
            superslab_return_pieces(home, superslab_unit_of(home, runs->start), runs->units, runs->full);
        } else {
            alike = superslab_alike(runs, count, &mask);
            superslab_return_used(home, mask, runs->full);
        }
    }
    lock_release(&superslabs.lock);
    return waited;
}

bool superslab_extend(struct superslab *home, void *start, unsigned units, unsigned more) {
    unsigned from = superslab_unit_of(home, start) + units;
    if (home->field || from + more > SUPERSLAB_UNITS)
        return false;
    uint64_t mask = superslab_mask(from, more);
    lock_take(&superslabs.lock);
    bool possible = (home->free & mask) == mask && superslab_may_hold(home, mask);
    if (possible)
        superslab_hand_out(home, mask);
    lock_release(&superslabs.lock);
    return possible;
}

/* Of the areas of `mask`, those that hold nothing any more may be begun again. */
static void superslab_end_areas(const struct superslab *home, uint64_t mask) {
    mask &= ~superslab_begun(home);
    for (unsigned area = 0; area < SUPERSLAB_UNITS / AREA_UNITS && superslabs.begun_for_room > 0; area++)
        superslabs.begun_for_room -= (mask & superslab_mask(area * AREA_UNITS, AREA_UNITS)) != 0;
}

void superslab_return_empty(struct superslab *home, uint64_t mask, bool stale) {
    home->free |= mask;
    home->absent = (home->absent | mask) & superslab_begun(home);
    if (superslabs.begun_for_room > 0 && !home->field)
        superslab_end_areas(home, mask);
    limit_give((size_t)bits_count(mask) * UNIT_SIZE);
    superslab_add(&superslabs.free_units, bits_count(mask));
    if (stale)
        home->stale |= mask;
    superslab_refile(home);
}

void superslab_give_empty(struct superslab *home, void *start, unsigned units) {
    uint64_t mask = superslab_mask(superslab_unit_of(home, start), units);
    lock_take(&superslabs.lock);
    superslab_return_empty(home, mask, false);
    lock_release(&superslabs.lock);
}

/* Written under the lock of the caller's room, read under ours: a guess is enough. */
void superslab_count_waiting(size_t units) {
    superslab_add(&superslabs.waiting_units, units);
}

size_t superslab_below_peak_bytes(void) {
    size_t used = __atomic_load_n(&superslabs.mapped_units, __ATOMIC_RELAXED) -
                  __atomic_load_n(&superslabs.free_units, __ATOMIC_RELAXED);
    size_t peak = __atomic_load_n(&superslabs.used_peak, __ATOMIC_RELAXED);
    peak += peak / 16;
    size_t below = peak > used ? (peak - used) * UNIT_SIZE : 0; /* a guess is enough */
    if (dense_known(DENSE_SHORT) != DENSE_NO)
        return below;
    used -= __atomic_load_n(&superslabs.field_used, __ATOMIC_RELAXED);
    bool sorts = __atomic_load_n(&superslabs.sorts, __ATOMIC_RELAXED) && dense_units(false) >= used / 4;
    return below / 16 * (sorts ? KEPT_SORTED : KEPT_MIXED);
}

size_t superslab_dirty_bytes(void) {
    return __atomic_load_n(&superslabs.dirty_units, __ATOMIC_RELAXED) * UNIT_SIZE; /* a guess is enough */
}

size_t superslab_staying_bytes(void) {
    return __atomic_load_n(&superslabs.staying_units, __ATOMIC_RELAXED) * UNIT_SIZE;
}

size_t superslab_mapped_bytes(void) {
    return __atomic_load_n(&superslabs.mapped_units, __ATOMIC_RELAXED) * UNIT_SIZE;
}

size_t superslab_free_bytes(void) {
    size_t waiting = __atomic_load_n(&superslabs.waiting_units, __ATOMIC_RELAXED);
    return (__atomic_load_n(&superslabs.free_units, __ATOMIC_RELAXED) + waiting) * UNIT_SIZE;
}

/* What superslab_used counts, outside of the lock: each is of another moment. */
size_t superslab_used_bytes(void) {
    size_t mapped = superslab_mapped_bytes(), idle = superslab_free_bytes() + superslab_field_used();
    return mapped > idle ? mapped - idle : 0;
}

bool superslab_seems_large(void) {
    return superslab_used_bytes() >= superslab_large_from();
}

void superslab_configure(size_t huge_from, bool decommit, bool decommit_lazily) {
    superslabs.huge_from = huge_from;
    superslabs.decommit = decommit;
    superslabs.decommit_lazily = decommit_lazily;
}

void superslab_ask_nothing(void) {
    superslabs.asks_nothing = true;
}

void superslab_before_fork(void) {
    if (!__atomic_load_n(&superslabs.forks, __ATOMIC_RELAXED))
        __atomic_store_n(&superslabs.forks, true, __ATOMIC_RELAXED);
}

void superslab_lock(bool take) {
    if (take)
        lock_take(&superslabs.lock);
    else
        lock_release(&superslabs.lock);
}
