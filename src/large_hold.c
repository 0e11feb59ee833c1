/* What large blocks hold: those that live, those that wait, and what is too much. */
#include "large_parts.h"

#include "metadata.h"
#include "os.h"

struct larges larges = {.lock = FAVOUR_INITIAL(7), .cache_limit = 64 * MIB};
SPARSE struct large *large_cache[LARGE_WAITING_MOST + 1];

/* ---- records ---- */

struct large *large_take_record(void) {
    favour_take(&larges.lock);
    struct large *large = large_pop(&larges.unused);
    favour_release(&larges.lock);
    if (!large)
        large = metadata_new(sizeof(struct large));
    if (large)
        *large = (struct large){0};
    return large;
}

void large_give_record(struct large *large) {
    favour_take(&larges.lock);
    large_push(&larges.unused, large);
    favour_release(&larges.lock);
}

void large_have_record(void) {
    favour_take(&larges.lock);
    bool has_one = larges.unused != NULL;
    favour_release(&larges.lock);
    struct large *large = has_one ? NULL : metadata_new(sizeof(struct large));
    if (large)
        large_give_record(large);
}

/* ---- what is live, what waits: under the lock ---- */

/* What a waiting block counts for beyond what is in memory of it. */
static size_t large_unseen(const struct large *large) {
    return large->extent > LARGE_LONG && large->resident < large->extent ? large->extent - large->resident
                                                                         : 0;
}

static void large_count_slack(size_t bytes) {
    larges.slack += bytes;
    large_count_outside(bytes);
}

/* Counts a block as live, as it is. Its length is its owner's: any thread may read that, nobody else writes it. */
static void large_count_live(struct large *large) {
    larges.held += large_weight(large);
    large_count_bytes(large);
    large_count_rounding(large);
    size_t keep = large_keep(large), slack = large->extent - keep;
    large->roomy = !large->home && large_is_roomy(keep, large->extent);
    if (!large->roomy)
        return;
    large_count_slack(slack);
    large->since = larges.looks;
    spare_age_add(&larges.roomy, large);
}

NOINLINE void large_hold_as(struct large *large, size_t bytes) {
    larges.held -= large_weight(large);
    large->bytes = bytes;
    larges.held += large_weight(large);
}

void large_enter(struct large *large, size_t bytes) {
    if (large->bytes != 0 && bytes > large->bytes) {
        large->every = large->due = 0;
        large->grew = true;
    }
    large->bytes = bytes;
    if (!large_is_in_field(large))
        large_count_live(large);
}

void large_keep_slack(struct large *large) {
    if (!large->roomy)
        return;
    large_count_slack(large_keep(large) - large->extent);
    spare_age_remove(&larges.roomy, large);
    large->roomy = false;
}

void large_leave(struct large *large) {
    if (large_is_in_field(large))
        return;
    larges.live -= large->bytes;
    large_end_rounding(large);
    larges.held -= large_weight(large);
    large_keep_slack(large);
}

void large_wait(struct large *large) {
    ASSERT(P2, larges.waiting <= LARGE_WAITING_MOST); /* one more, until this hold of the lock ends */
    ASSERT(P3, !large->counted && (!large->solid || large->extent % HUGE_LEAST == 0));
    large->bytes = large->extent;
    large->place = larges.waiting;
    large_cache[larges.waiting++] = large;
    larges.unseen += large_unseen(large);
    spare_put(large);
}

struct large *large_waited(struct large *large) {
    if (!large)
        return NULL;
    ASSERT(P1, larges.waiting > 0 && large_cache[large->place] == large);
    struct large *last = large_cache[--larges.waiting];
    large_cache[last->place = large->place] = last;
    large_cache[larges.waiting] = NULL;
    larges.unseen -= large_unseen(large);
    return large;
}

struct large *large_take_waiting(size_t bytes, size_t most, size_t alignment, enum spare_kind kind) {
    return large_waited(spare_take(bytes, most, alignment, kind));
}

size_t large_holds(size_t more) {
    return larges.held + spare_resident_bytes() + larges.unseen + larges.slack + more;
}

/* The most that ever was live by then. */
static size_t large_peak(size_t more) {
    size_t live = larges.live + more;
    return live > larges.live_peak ? live : larges.live_peak;
}

bool large_is_crowded(size_t more) {
    return large_holds(more) > large_peak(more);
}

size_t large_most(size_t more) {
    return large_peak(more) / 16 * LARGE_PEAK_SIXTEENTHS;
}

size_t large_overhang(size_t more) {
    size_t most = large_most(more), holds = large_holds(more);
    return holds > most ? holds - most : 0;
}

/* More wait than always may. Blocks of which little is in memory are worth little but the calls that made them, and had better wait than
 * be made, and measured, anew. */
static COLD bool large_many_are_too_many(void) {
    return spare_resident_bytes() > LARGE_WAITING_SPARSE || larges.waiting > LARGE_WAITING_MOST;
}

static bool large_has_too_many(void) {
    size_t waiting = spare_resident_bytes() + larges.recent.resident;
    bool many = larges.waiting > LARGE_WAITING_FEW;
    return waiting > limit_keep(larges.cache_limit, waiting) || (UNLIKELY(many) && large_many_are_too_many());
}

static bool large_holds_too_much(void) {
    return large_has_too_many() || large_overhang(0) > 0;
}

struct large *large_give_up_oldest(void) {
    struct large *large = spare_oldest();
    if (large)
        spare_remove(large);
    return large_waited(large);
}

void large_end_areas(struct large *large, size_t extent) {
    large->huge = large->huge && seams_last(&large->seams) < extent;
    large->seams = seams_between(&large->seams, 0, extent);
}

void large_shorten(struct large *large, size_t extent) {
    large_end_areas(large, extent);
    large->resident = large->resident < extent ? large->resident : extent;
    large->extent = extent;
}

/* Cuts what is above `extent` off a mapping; a record for it, NULL when there is none at hand. */
static struct large *large_cut(struct large *large, size_t extent) {
    struct large *rest = pagemap_reserve(large_unit(large) + extent, 1) ? large_pop(&larges.unused) : NULL;
    if (!rest)
        return NULL;
    *rest = (struct large){.start = large_unit(large) + extent,
                           .extent = large->extent - extent,
                           .seams = seams_between(&large->seams, extent, large->extent),
                           .given = large->given,
                           .huge = large->huge,
                           .solid = large->solid};
    rest->resident = large->resident / (large->extent / UNIT_SIZE) * (rest->extent / UNIT_SIZE);
    large->resident -= rest->resident;
    large_shorten(large, extent);
    return rest;
}

struct large *large_give_up_slack(void) {
    struct large *large = larges.roomy.oldest;
    if (!large)
        return NULL;
    large_leave(large);
    struct large *rest = large_cut(large, large_keep(large));
    large_count_live(large);
    return rest;
}

struct large *large_take_rested(size_t bytes, size_t most) {
    struct large *large = spare_recent_take(&larges.recent, bytes, most);
    if (large) {
        larges.held -= large_weight(large);
        large_end_rest(large);
    }
    return large;
}

static COLD void large_find_place(struct large **out) {
    if (large_many_are_too_many())
        large_push(out, large_give_up_oldest());
}

void large_gather(struct large **out) {
    for (struct large *large; (large = large_take_rested(0, LARGE_MOST)) != NULL;) {
        large_wait(large);
        if (UNLIKELY(larges.waiting > LARGE_WAITING_FEW))
            large_find_place(out);
    }
}

/* Of what waits longest only the end, as a mapping, where that is enough and more stays. Huge pages are not torn. */
static struct large *large_give_up_end(size_t bytes) {
    struct large *large = large_give_up_oldest();
    size_t goes = align_up(bytes, UNIT_SIZE);
    if (!large || large->home || large->huge || !large_is_warm(large) || goes >= large->extent ||
        !limit_may_split())
        return large;
    struct large *rest = large_cut(large, large->extent - goes);
    if (!rest)
        return large;
    large_wait(large);
    return rest;
}

static NOINLINE struct large *large_take_excess(void) {
    struct large *out = NULL;
    for (unsigned i = 0; i < LARGE_GIVE_UP && large_holds_too_much(); i++) {
        if (!spare_oldest())
            large_gather(&out);
        struct large *large =
            large_has_too_many() ? large_give_up_oldest() : large_give_up_end(large_overhang(0));
        if (!large)
            large = large_give_up_slack();
        if (!large)
            break;
        large_push(&out, large);
    }
    return out;
}

struct large *large_excess(void) {
    return UNLIKELY(large_holds_too_much()) ? large_take_excess() : NULL;
}

struct large *large_if_warm_for(struct large *large, size_t bytes) {
    if (!large || large_is_warm_for(large, bytes))
        return large;
    large_wait(large);
    return NULL;
}

struct large *large_if_warm(struct large *large) {
    return large_if_warm_for(large, large ? large->extent : 0);
}

/* ---- giving back: without the lock ---- */

void large_count_mapped(size_t bytes) {
    size_t gone = 0;
    if ((ptrdiff_t)bytes < 0)
        limit_give(-bytes);
    else
        gone = superslab_purge_fields(bytes);
    favour_take(&larges.lock);
    large_note_exchange(gone);
    /* written under the lock, read without */
    __atomic_store_n(&larges.mapped_bytes, larges.mapped_bytes + bytes, __ATOMIC_RELAXED);
    favour_release(&larges.lock);
}

/* Unmaps; what the kernel refuses to unmap gives its pages back and waits for reuse, P3. */
static bool large_unmap(struct large *large) {
    huge_forget(large_unit(large), large->extent);
    if (pagemap_unmap(large_unit(large), large->extent)) {
        large_count_mapped(-large->extent);
        large_give_record(large);
        return true;
    }
    os_advise(large_unit(large), large->extent, OS_DONTNEED);
    favour_take(&larges.lock);
    large_push(&larges.stuck, large);
    favour_release(&larges.lock);
    return false;
}

size_t large_release(struct large *large) {
    size_t bytes = large->extent;
    if (!large->home)
        return large_unmap(large) ? bytes : 0;
    pagemap_set(large_unit(large), bytes >> UNIT_SHIFT, PAGEMAP_NONE, NULL);
    large_count_run(large, bytes >> UNIT_SHIFT, true);
    superslab_give(large->home, large_unit(large), (unsigned)(bytes >> UNIT_SHIFT));
    large_give_record(large);
    return 0;
}

NOINLINE void large_release_list(struct large *out) {
    while (out)
        large_release(large_pop(&out));
}

void large_settle(struct large *again) {
    large_have_record();
    favour_take(&larges.lock);
    if (again)
        large_wait(again);
    struct large *out = large_excess();
    favour_release(&larges.lock);
    large_release_all(out);
}
