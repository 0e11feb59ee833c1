#include "large_parts.h"

#include "os.h"
#include "pages.h"

#define LONGER_FROM (256 * KIB) /* bytes of a request that a longer mapping may serve */

enum { PUT_AT_ONCE = 16 /* blocks, under one hold of the lock: who waits for it may be in a malloc */ };

/* ---- a block goes ---- */

/* The second time, whether as much is in memory of a mapping as the first time, as far as one page can tell: what was written from its beginning
 * on, and further than before, has the one behind those. All pages of a run take no longer than one. */
static bool large_seems_same(const struct large *large) {
    enum pages_density density;
    size_t page = os_page_size(), resident = align_up(large->resident, page);
    if (large->home || large->every != LARGE_MEASURE_FIRST)
        return false;
    return resident >= large->extent || pages_resident(large_unit(large) + resident, page, &density) == 0;
}

/* Bytes that are in memory of it; what that says of its kind is learned. The lock is not held. */
static size_t large_count_pages(struct large *large) {
    enum pages_density density;
    huge_forget(large_unit(large), large->extent);
    if (large_seems_same(large))
        return large->resident;
    size_t resident = pages_resident(large_unit(large), large->extent, &density);
    if (large_tells(large, large->extent))
        huge_learn(large_unit(large), large->extent, density);
    else if (!large->home)
        huge_leave(large_unit(large), large->extent);
    if (large->fresh && large->home)
        dense_tell(dense_kind_of_run(large->extent >> UNIT_SHIFT), resident, large->extent);
    large->fresh = false;
    return resident;
}

/* As it looks by now, and when it is to be looked at next. */
static void large_note_resident(struct large *large, size_t resident) {
    size_t before = large->resident, change = resident > before ? resident - before : before - resident;
    bool same = large->every > 0 && change <= large->extent / LARGE_MEASURE_SAME;
    unsigned every = same ? large->every * LARGE_MEASURE_TIMES : LARGE_MEASURE_FIRST;
    large->resident = resident;
    large->due = large->every = (uint16_t)(every < LARGE_MEASURE_MOST ? every : LARGE_MEASURE_MOST);
}

/* Measures what is in memory of a block that has just left; the lock is not held meanwhile. */
static NOINLINE void large_measure(struct large *large) {
    favour_release(&larges.lock);
    size_t resident = large_count_pages(large);
    favour_take(&larges.lock);
    large_note_resident(large, resident);
}

/* Under the lock: it is live no longer, and has been measured. What is not to be held any more is linked to *out. */
static void large_wait_or_go(struct large *large, struct large **out) {
    large->due--;
    if (large->resident > larges.cache_limit || larges.cache_limit == 0) {
        large_push(out, large);
        return;
    }
    large_wait(large);
    for (struct large *excess = large_excess(); UNLIKELY(excess != NULL);)
        large_push(out, large_pop(&excess));
    ASSERT(P2, spare_resident_bytes() + larges.recent.resident <= larges.cache_limit || *out);
}

/* A block that rests does so at hand no longer. Under the lock, which it releases. */
static NOINLINE void large_let_wait(struct large *large) {
    struct large *out = NULL;
    large_end_rest(large);
    if (large_is_in_field(large)) {
        favour_release(&larges.lock);
        large_release(large);
        return;
    }
    large_leave(large);
    if (large->due == 0)
        large_measure(large);
    large_wait_or_go(large, &out);
    favour_release(&larges.lock);
    large_release_all(out);
}

/* What may be at hand of `keep` bytes beside those that wait. */
static COLD size_t large_most_beside(size_t keep, size_t waiting) {
    return keep > waiting ? keep - waiting : 0;
}

/* A block that need not be measured comes to hand; it goes on counting as held, so nothing is too much. `keep`: bytes that may wait. */
static ALWAYS_INLINE bool large_put_recent_within(struct large *large, size_t keep) {
    size_t most = keep / 2;
    if (UNLIKELY(spare_resident_bytes() > most))
        most = large_most_beside(keep, spare_resident_bytes());
    if (UNLIKELY(!spare_recent_put(&larges.recent, large, most, LARGE_RECENT_EXTENT * most)))
        return false;
    large->due--;
    larges.live -= large->bytes;
    return true;
}

static bool large_put_recent(struct large *large) {
    if (UNLIKELY(large->due == 0 || large->counted))
        return false;
    return large_put_recent_within(large, limit_keep(larges.cache_limit, larges.recent.resident));
}

/* A block that a hand gives away, where all find it. Under the lock. */
static void large_put_given(struct large *large, struct large **out) {
    large->due++; /* it is not freed anew */
    if (large_put_recent(large))
        return;
    large_end_rest(large);
    large_leave(large);
    large_wait_or_go(large, out);
}

NOINLINE void large_put_all(struct large *all) {
    while (all) {
        struct large *out = NULL;
        favour_take(&larges.lock);
        for (unsigned i = 0; i < PUT_AT_ONCE && all; i++)
            large_put_given(large_pop(&all), &out);
        favour_release(&larges.lock);
        large_release_all(out);
    }
}

/* A block that rests. Under the lock, which it releases. */
static NOINLINE void large_put(struct large *large) {
    large_end_rounding(large);
    if (large_put_recent(large))
        favour_release(&larges.lock);
    else
        large_let_wait(large);
}

/* A live block that came to hand often enough: nobody else finds it. Where no sum changes nobody is waited for. */
static void large_measure_live(struct large *large) {
    size_t resident = large_count_pages(large);
    if (LIKELY(large->every > 0 && resident == large->resident)) {
        large_note_resident(large, resident);
        return;
    }
    favour_take(&larges.lock);
    large_leave(large);
    large_note_resident(large, resident);
    large_enter(large, large->bytes);
    struct large *out = large_excess();
    favour_release(&larges.lock);
    large_release_all(out);
}

/* For who is not the favourite. `suits`: what for may be at hand. */
static void large_take_lock(bool suits) {
    favour_take_lock(&larges.lock);
    if (suits)
        large_hand_consider();
}

static NOINLINE void large_put_shared(struct large *large) {
    bool suits = large_suits_hand(large);
    if (large_is_due_at_hand(large)) {
        large_measure_live(large);
        if (large_hand_put(large))
            return;
    }
    large_take_lock(suits);
    large_begin_rest(large);
    large_put(large);
}

/* Of what is longer than a run more is counted. */
bool large_rest(struct large *large, struct large_hand *hand) {
    if (UNLIKELY(large->bytes > LARGE_RUN_MOST || large->due == 0))
        return false;
    if (UNLIKELY(!favour_take_at(&larges.lock, &hand->seat)))
        return large_hand_rest(hand, large);
    bool put =
        LIKELY(!limit_is_watching() && !large->counted) && large_put_recent_within(large, larges.cache_limit);
    if (LIKELY(put))
        large_begin_rest(large);
    favour_release_at(&larges.lock, &hand->seat);
    return put;
}

void large_delete(struct large *large) {
    bool tried = !has(calls) && !has(verify_free); /* by who calls this */
    struct large_hand *hand = tried ? NULL : large_hand_mine();
    if (hand && large_rest(large, hand))
        return;
    if (favour_take_mine(&larges.lock)) {
        large_begin_rest(large);
        large_put(large);
    } else if (!large_has_hand() || !large_hand_put(large)) {
        large_put_shared(large);
    }
}

/* ---- a block comes ---- */

/* The pages above `size` go home where a burst of small blocks has touched them all: the program may never touch
 * them again. docs/experiments/peak-rss.md */
static void large_give_tail_home(const struct large *large, size_t size) {
    size_t used = align_up(size, os_page_size());
    if (large->extent - used >= large->extent / LARGE_TAIL_LEAST && limit_may_purge())
        superslab_decommit(large->home, large_unit(large) + used, large->extent - used);
}

/* What a request may be served with. */
enum large_wish {
    LARGE_PLAIN, /* nearly its size */
    LARGE_ROOM,  /* a new run with room behind it */
    LARGE_PROBE, /* a new run that tells how such blocks are written */
    LARGE_WIDE,  /* what waits and is up to LARGE_WIDENS times as long */
    LARGE_SOLID  /* a mapping of whole huge pages, if that is where such blocks lie best */
};

/* Whether one of the last few that were not at hand was as long. */
static bool large_is_one_of_many(size_t size) {
    SPARSE static _Atomic size_t sizes[LARGE_SIZES]; /* relaxed: a hint */
    _Atomic size_t *last = &sizes[sizeclass_golden(size) * LARGE_SIZES >> 32];
    if (atomic_load_explicit(last, memory_order_relaxed) == size)
        return true;
    atomic_store_explicit(last, size, memory_order_relaxed);
    return false;
}

/* Many of one length that begin at multiples of the unit would have their first lines in two sets of a cache, and their first pages in a sixteenth
 * of those of a TLB. So what is not live yet begins some pages and lines behind that, as far as the block has room, but on no page more than
 * it would have, unless it is whole pages, between which there is no room for lines: like slabs, see sizeclass_colour. Where a burst of small
 * blocks has touched all pages (`full`), those above go home, so it begins on the first. What grows will want all of the room.
 * docs/experiments/colours-of-large-blocks.md */
static void large_lay(struct large *large, size_t size, size_t bytes, enum large_wish wish, bool full) {
    unsigned char *unit = large_unit(large);
    bool grows = wish == LARGE_ROOM || wish == LARGE_WIDE;
    size_t room = bytes > size && !grows && large_is_one_of_many(size) ? bytes - size : 0;
    uint64_t golden = sizeclass_golden((uintptr_t)unit >> UNIT_SHIFT),
             other = sizeclass_golden(golden >> UNIT_SHIFT);
    uint64_t page = os_page_size(), pages = room / page + 1, rest = room % page;
    if (pages > 1 && rest < SIZECLASS_COLOUR) {
        rest = page - SIZECLASS_COLOUR;
        pages--;
    }
    pages = full ? 1 : pages;
    uint64_t lines = rest / SIZECLASS_COLOUR + 1;
    large->start = unit + (golden * pages >> 32) * page + (other * lines >> 32) * SIZECLASS_COLOUR;
    ASSERT(P1, (size_t)(large->start - unit) <= room);
}

/* What is hardly touched gets small pages in a heap of huge ones, too; and so what is to tell whether it is, *probe. */
static enum superslab_use large_run_use(size_t bytes, enum large_wish wish, bool *probe) {
    if (wish == LARGE_PLAIN && large_run_fills(bytes, probe))
        return SUPERSLAB_FILLS;
    bool sparse = wish == LARGE_PLAIN && superslab_seems_large() &&
                  dense_is_sparse(dense_kind_of_run(bytes >> UNIT_SHIFT));
    return *probe || sparse ? SUPERSLAB_SPARSE : SUPERSLAB_MIXED;
}

static struct large *large_new_run(size_t size, size_t bytes, enum large_wish wish, bool *zeroed) {
    unsigned units = (unsigned)(bytes >> UNIT_SHIFT);
    struct large *large = large_take_record();
    if (!large)
        return NULL;
    bool probe = wish == LARGE_PROBE;
    struct superslab_run run = wish == LARGE_ROOM ? superslab_take_roomy(units)
                                                  : superslab_take(units, large_run_use(bytes, wish, &probe));
    if (!run.start) {
        large_give_record(large);
        return NULL;
    }
    large->start = run.start;
    large_lay(large, size, bytes, wish, run.full);
    large->home = run.home;
    large->extent = bytes;
    large->fresh = run.zeroed && !run.home->huge;
    *zeroed = run.zeroed;
    large_count_run(large, units, false);
    if (large->fresh)
        dense_watch(dense_kind_of_run(units), run.start, units, probe);
    if (run.full)
        large_give_tail_home(large, size);
    pagemap_set(run.start + UNIT_SIZE, units - 1, PAGEMAP_RUN_INSIDE, large);
    return large;
}

/* One of those freed last, of nearly the same size: then its last bytes fall on pages that were touched before. */
static struct large *large_take_recent(size_t bytes, size_t fit, size_t alignment, enum large_wish wish) {
    size_t most = wish == LARGE_WIDE ? LARGE_WIDENS * fit : large_nearly(bytes);
    struct large *large = alignment > UNIT_SIZE ? NULL : spare_recent_take(&larges.recent, fit, most);
    if (large) {
        large_enter_again(large, bytes);
        large_count_rounding(large);
    }
    return large;
}

/* A longer mapping that waits, whole: for a long block any; else a long one; or, when more would be held than was once live,
 * one that holds what is wanted. One that is very much longer, and then missed, only when something that waits would have to go
 * home for a new one. docs/experiments/few-large-blocks.md, what-waits-serves-first.md */
static struct large *large_take_longer(size_t fit, size_t alignment, struct large **out) {
    size_t least = spare_round(LARGE_LONG + UNIT_SIZE);
    struct large *large = NULL;
    if (fit < least && large_is_crowded(fit)) {
        large_gather(out);
        size_t most = LARGE_LENDS * fit < least && large_overhang(fit) == 0 ? LARGE_LENDS * fit : least;
        large = large_if_warm_for(large_take_waiting(fit, most, alignment, SPARE_MAPPING), fit);
    }
    if (large || fit <= LARGE_RUN_MOST)
        return large;
    return large_take_waiting(fit > least ? fit : least, LARGE_MOST, alignment, SPARE_MAPPING);
}

/* A waiting block that wastes at most a quarter, or a longer one; and what has to go because it is live now. Under the
 * lock, which it releases. `shared`: more comes to hand with it. */
static NOINLINE struct large *large_take_fit(size_t size, size_t bytes, size_t fit, size_t alignment,
                                             enum large_wish wish, bool shared) {
    size_t most = wish == LARGE_WIDE ? LARGE_WIDENS * fit : fit + fit / 4;
    bool solid = wish == LARGE_SOLID && large_suits_solid();
    struct large *out = NULL, *more = NULL;
    if (wish == LARGE_PLAIN && alignment == UNIT_SIZE)
        lengths_note_run(bytes);
    struct large *large =
        solid ? large_take_solid(fit, &out) : large_take_waiting(fit, most, alignment, SPARE_ANY);
    if (!large && !solid && bytes >= LONGER_FROM)
        large = large_take_longer(fit, alignment, &out);
    if (large) {
        large_lay(large, size, bytes, wish, false);
        large_enter(large, bytes);
        if (shared && large_has_hand())
            more = large_hand_more(fit, false);
        if (!out)
            out = large_excess();
    }
    favour_release(&larges.lock);
    large_hand_fill(more);
    large_release_all(out);
    return large;
}

/* A run or a mapping of the kernel's, or a waiting block that nearly fits only with a cut. */
static NOINLINE struct large *large_new_from_below(size_t size, size_t bytes, size_t fit, size_t alignment,
                                                   enum large_wish wish, bool *zeroed) {
    bool run = bytes <= LARGE_RUN_MOST && alignment == UNIT_SIZE;
    struct large *large = run ? large_new_run(size, bytes, wish, zeroed) : NULL;
    if (!large && !run && wish == LARGE_PROBE) { /* what waits would tell nothing */
        large = large_map(fit, alignment, 0);
        *zeroed = large != NULL;
    } else if (!large) { /* superslabs end at a TiB */
        if (wish == LARGE_SOLID)
            large = large_new_solid(bytes, fit, zeroed);
        if (!large)
            large = large_new_mapping(fit, alignment, zeroed);
    }
    if (!large)
        return NULL;
    if (!large->home) /* else it is laid already */
        large_lay(large, size, bytes, wish, false);
    if (wish == LARGE_WIDE && !large->home) { /* a copy is all there, whatever the program wrote */
        large->given = true;
        huge_watch(NULL, fit);
    }
    favour_take(&larges.lock);
    bool first = larges.live_peak == 0;
    large_enter(large, bytes);
    favour_release(&larges.lock);
    if (first)
        favour_prepare(false);
    large_settle(NULL);
    return large;
}

/* A new life: nothing is known of it. */
static ALWAYS_INLINE void *large_begin(struct large *large) {
    large->grew = large->whole = false;
    large->looked = 0;
    return large->start;
}

static void *large_hand_out(struct large *large) {
    if (!large)
        return NULL;
    pagemap_set(large_unit(large), 1, large->home ? PAGEMAP_RUN : PAGEMAP_MAPPING, large);
    large->taken_by = large_hand_mine();
    return large_begin(large);
}

/* It was at hand: its tag is there, and what is in memory of it lies where it began. */
static ALWAYS_INLINE void *large_hand_out_again(struct large *large, size_t size) {
    large->start -= LARGE_AT_HAND;
    if (UNLIKELY(large_colour(large) + size > large->bytes))
        large->start = large_unit(large);
    return large_begin(large);
}

/* One of those freed last. Under the lock; NULL: it is held still. `shared`: more comes to hand with it. */
static void *large_new_recent(size_t size, size_t bytes, size_t fit, size_t alignment, enum large_wish wish,
                              bool shared) {
    struct large *large = large_take_recent(bytes, fit, alignment, wish);
    if (!large)
        return NULL;
    struct large *more = shared && large_has_hand() ? large_hand_more(bytes, true) : NULL;
    favour_release(&larges.lock);
    large_hand_fill(more);
    large->taken_by = large_hand_mine();
    return large_hand_out_again(large, size);
}

/* In a field, or to tell whether others may be. NULL: neither. */
static NOINLINE void *large_new_whole(size_t size, size_t bytes, size_t fit, bool *zeroed) {
    bool probe;
    struct large *large = large_new_in_field(bytes, &probe, zeroed);
    if (large)
        large_lay(large, size, bytes, LARGE_PLAIN, false);
    else if (probe)
        large = large_new_from_below(size, bytes, fit, UNIT_SIZE, LARGE_PROBE, zeroed);
    if (large && bytes <= LARGE_RUN_MOST)
        large_note_run(bytes);
    return large_hand_out(large);
}

static void *large_new_block_of(size_t size, size_t bytes, size_t alignment, enum large_wish wish,
                                bool *zeroed) {
    size_t fit = spare_round(bytes);
    bool suits = wish != LARGE_WIDE && alignment == UNIT_SIZE && bytes <= LARGE_RUN_MOST;
    bool plain = alignment == UNIT_SIZE && wish == LARGE_PLAIN;
    bool field = bytes >= LARGE_FIELD_LEAST && large_suits_field(bytes, plain);
    void *block = field ? large_new_whole(size, bytes, fit, zeroed) : NULL;
    if (block)
        return block;
    *zeroed = false;
    if (plain && large_may_be_solid(bytes))
        wish = LARGE_SOLID;
    bool shared = !favour_take_mine(&larges.lock);
    if (shared)
        large_take_lock(suits);
    block = large_new_recent(size, bytes, fit, alignment, wish, shared && suits);
    if (block)
        return block;
    struct large *large = large_take_fit(size, bytes, fit, alignment, wish, shared && suits);
    if (!large)
        large = large_new_from_below(size, bytes, fit, alignment, wish, zeroed);
    ASSERT(P1, !large || ((uintptr_t)large_unit(large) & (alignment - 1)) == 0);
    return large_hand_out(large);
}

static NOINLINE void *large_new_block(size_t size, size_t alignment, enum large_wish wish, bool *zeroed) {
    *zeroed = false;
    if (size > LARGE_MOST || alignment > PTRDIFF_MAX / 2)
        return NULL;
    alignment = alignment < UNIT_SIZE ? UNIT_SIZE : alignment;
    size_t bytes = align_up(size ? size : 1, UNIT_SIZE);
    void *block = large_new_block_of(size, bytes, alignment, wish, zeroed);
    if (block && bytes > LARGE_RUN_MOST)
        large_note_longer(bytes, alignment == UNIT_SIZE && wish == LARGE_PLAIN);
    return block;
}

void *large_again(struct large_hand *hand, size_t size) {
    unsigned units = (unsigned)((size + UNIT_SIZE - 1) >> UNIT_SHIFT);
    struct large *large = NULL;
    if (UNLIKELY(size > LARGE_RUN_MOST))
        return NULL;
    if (LIKELY(favour_take_at(&larges.lock, &hand->seat))) {
        large = spare_recent_pop(&larges.recent, units);
        if (LIKELY(large != NULL))
            large_enter_again(large, large->extent);
        favour_release_at(&larges.lock, &hand->seat);
    } else if (large_hand_is_used(hand)) {
        large = large_hand_pop(hand, units);
        if (UNLIKELY(!large))
            large = large_hand_take(hand, units * (size_t)UNIT_SIZE);
    }
    return LIKELY(large != NULL) ? large_hand_out_again(large, size) : NULL;
}

/* The same of a thread that may have none. */
static void *large_again_mine(size_t size) {
    struct large_hand *hand = large_hand_mine();
    return hand ? large_again(hand, size) : NULL;
}

void *large_new(size_t size, size_t alignment, bool *zeroed) {
    if (alignment > SIZECLASS_COLOUR && size <= LARGE_MOST) /* a colour has no room then */
        size = align_up(size ? size : 1, UNIT_SIZE);
    void *block = alignment <= UNIT_SIZE ? large_again_mine(size) : NULL;
    *zeroed = false;
    return block ? block : large_new_block(size, alignment, LARGE_PLAIN, zeroed);
}

/* Room for each of many would spread them over three times the addresses, and over pages that are not warm. */
static bool large_has_few(void) {
    favour_take(&larges.lock);
    bool few = larges.live < LARGE_RUN_MOST;
    favour_release(&larges.lock);
    return few;
}

static void *large_new_roomy(size_t size, bool *zeroed) {
    void *block = large_again_mine(size);
    *zeroed = false;
    return block ? block : large_new_block(size, UNIT_SIZE, LARGE_ROOM, zeroed);
}

NOINLINE void *large_new_to_grow(size_t size, size_t from, bool *zeroed) {
    if (from > LARGE_COPY_MOST)
        return large_new_block(size, UNIT_SIZE, LARGE_WIDE, zeroed);
    if (size > LARGE_RUN_MOST || !large_has_few())
        return large_new(size, UNIT_SIZE, zeroed);
    size_t bytes = align_up(size, UNIT_SIZE);
    return from > SIZECLASS_LARGEST
               ? large_hand_out(large_new_from_below(size, bytes, bytes, UNIT_SIZE, LARGE_ROOM, zeroed))
               : large_new_roomy(size, zeroed);
}
