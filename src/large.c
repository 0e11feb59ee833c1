#include "large.h"

#include "favour.h"
#include "huge.h"
#include "metadata.h"
#include "os.h"
#include "pages.h"

#include <string.h>

#define RUN_LARGEST ((size_t)SUPERSLAB_RUN_LARGEST * UNIT_SIZE)
#define MOVE_FROM (128 * KIB)   /* shorter runs are copied when they cannot grow */
#define LONGER_FROM (256 * KIB) /* bytes of a request that a longer mapping may serve */
#define SIZE_MOST (PTRDIFF_MAX - 2 * (size_t)UNIT_SIZE)

static struct {
    struct favour lock;
    struct large *unused;
    struct large *stuck;     /* mappings that the kernel would not unmap */
    struct spare_ages roomy; /* live blocks with much slack */
    size_t cache_limit, mapped_bytes;
    size_t live, live_peak; /* bytes of live blocks, and the most that there ever were at once */
    size_t held;            /* what live and recent blocks hold in memory, as far as that is known */
    size_t slack;           /* what roomy blocks stand on beyond their bytes */
    size_t unseen;  /* of long blocks that wait: what is not in memory, as last measured, but may be */
    uint32_t looks; /* of large_purge_rested */
    struct large
        *cache[LARGE_WAITING_MOST + 1]; /* all that spare has, in no order: for who looks from outside */
    unsigned waiting;                   /* how many */
    struct spare_recent recent;         /* freed last: not in spare yet */
} larges = {.lock = FAVOUR_INITIAL(7), .cache_limit = 64 * MIB};

/* ---- records ---- */

static struct large *large_pop(struct large **list) {
    struct large *large = *list;
    if (large)
        *list = large->next;
    return large;
}

static void large_push(struct large **list, struct large *large) {
    large->next = *list;
    *list = large;
}

static struct large *large_take_record(void) {
    favour_take(&larges.lock);
    struct large *large = large_pop(&larges.unused);
    favour_release(&larges.lock);
    if (!large)
        large = metadata_new(sizeof(struct large));
    if (large)
        *large = (struct large){0};
    return large;
}

static void large_give_record(struct large *large) {
    favour_take(&larges.lock);
    large_push(&larges.unused, large);
    favour_release(&larges.lock);
}

/* There is one at hand to cut slack off with. */
static void large_have_record(void) {
    favour_take(&larges.lock);
    bool has_one = larges.unused != NULL;
    favour_release(&larges.lock);
    struct large *large = has_one ? NULL : metadata_new(sizeof(struct large));
    if (large)
        large_give_record(large);
}

/* What is more was allowed by limit_take before; less is given back. */
static void large_count_mapped(size_t bytes) {
    if ((ptrdiff_t)bytes < 0)
        limit_give(-bytes);
    favour_take(&larges.lock);
    /* written under the lock, read without */
    __atomic_store_n(&larges.mapped_bytes, larges.mapped_bytes + bytes, __ATOMIC_RELAXED);
    favour_release(&larges.lock);
}

/* ---- what is live, what waits: under the lock ---- */

/* What a live block is taken to hold in memory: what was measured when it was freed before, else all of it; of a long one
 * always all. */
static size_t large_weight(const struct large *large) {
    bool measured = large->every > 0 && large->bytes <= LARGE_LONG;
    return measured && large->resident < large->bytes ? large->resident : large->bytes;
}

/* What a waiting block counts for beyond what is in memory of it. */
static size_t large_unseen(const struct large *large) {
    return large->extent > LARGE_LONG && large->resident < large->extent ? large->extent - large->resident
                                                                         : 0;
}

/* Written under the lock, read without. */
static void large_count_slack(size_t bytes) {
    __atomic_store_n(&larges.slack, larges.slack + bytes, __ATOMIC_RELAXED);
}

static void large_count_bytes(const struct large *large) {
    larges.live += large->bytes;
    if (larges.live > larges.live_peak)
        larges.live_peak = larges.live;
}

/* Counts a block as live, as it is. Its length is its owner's: any thread may read that, nobody else writes it. */
static void large_count_live(struct large *large) {
    larges.held += large_weight(large);
    large_count_bytes(large);
    size_t slack = large->extent - large->bytes;
    large->roomy = !large->home && slack > large->bytes / (large->bytes > LARGE_LONG ? 16 : 4);
    if (!large->roomy)
        return;
    large_count_slack(slack);
    large->since = larges.looks;
    spare_age_add(&larges.roomy, large);
}

/* The block has `bytes` now, and stands on extent bytes. One that has grown is to be measured anew. */
static void large_enter(struct large *large, size_t bytes) {
    if (large->bytes != 0 && bytes > large->bytes) {
        large->every = large->due = 0;
        large->grew = true;
    }
    large->bytes = bytes;
    large_count_live(large);
}

/* From here on nobody else changes the block's extent. */
static void large_keep_slack(struct large *large) {
    if (!large->roomy)
        return;
    large_count_slack(large->bytes - large->extent);
    spare_age_remove(&larges.roomy, large);
    large->roomy = false;
}

static void large_leave(struct large *large) {
    larges.live -= large->bytes;
    larges.held -= large_weight(large);
    large_keep_slack(large);
}

static void large_wait(struct large *large) {
    ASSERT(P2, larges.waiting <= LARGE_WAITING_MOST); /* one more, until this hold of the lock ends */
    large->bytes = large->extent;
    large->place = larges.waiting;
    larges.cache[larges.waiting++] = large;
    larges.unseen += large_unseen(large);
    spare_put(large);
}

/* Takes a block that spare has just let go out of the table: the last one gets its place. */
static struct large *large_waited(struct large *large) {
    if (!large)
        return NULL;
    struct large *last = larges.cache[--larges.waiting];
    larges.cache[last->place = large->place] = last;
    larges.cache[larges.waiting] = NULL;
    larges.unseen -= large_unseen(large);
    return large;
}

static struct large *large_take_waiting(size_t bytes, size_t most, size_t alignment, bool mapping) {
    return large_waited(spare_take(bytes, most, alignment, mapping));
}

/* What live, waiting and lent bytes hold when `more` become live. */
static size_t large_holds(size_t more) {
    return larges.held + spare_resident_bytes() + larges.unseen + larges.slack + more;
}

/* The most that ever was live by then. */
static size_t large_peak(size_t more) {
    size_t live = larges.live + more;
    return live > larges.live_peak ? live : larges.live_peak;
}

/* Whether more would be held than ever was live: then what waits serves before the kernel is asked for more. */
static bool large_is_crowded(size_t more) {
    return large_holds(more) > large_peak(more);
}

/* Bytes that would be too much for what was once live. More than crowds: who swings about that edge pays nothing. */
static size_t large_overhang(size_t more) {
    size_t most = large_peak(more) / 16 * LARGE_PEAK_SIXTEENTHS, holds = large_holds(more);
    return holds > most ? holds - most : 0;
}

static bool large_has_too_many(void) {
    size_t waiting = spare_resident_bytes() + larges.recent.bytes;
    return waiting > limit_keep(larges.cache_limit, waiting) || larges.waiting > LARGE_WAITING_MOST;
}

static bool large_holds_too_much(void) {
    return large_has_too_many() || large_overhang(0) > 0;
}

static struct large *large_give_up_oldest(void) {
    struct large *large = spare_oldest();
    if (large)
        spare_remove(large);
    return large_waited(large);
}

/* The areas of a mapping that ends at `extent` from here on. What is known of new pages is known of its last area. */
static void large_end_areas(struct large *large, size_t extent) {
    large->huge = large->huge && seams_last(&large->seams) < extent;
    large->seams = seams_between(&large->seams, 0, extent);
}

/* A mapping that is not live ends there. */
static void large_shorten(struct large *large, size_t extent) {
    large_end_areas(large, extent);
    large->resident = large->resident < extent ? large->resident : extent;
    large->extent = extent;
}

/* Cuts what is above `extent` off a mapping; a record for it, NULL when there is none at hand. */
static struct large *large_cut(struct large *large, size_t extent) {
    struct large *rest = pagemap_reserve(large->start + extent, 1) ? large_pop(&larges.unused) : NULL;
    if (!rest)
        return NULL;
    *rest = (struct large){.start = large->start + extent,
                           .extent = large->extent - extent,
                           .seams = seams_between(&large->seams, extent, large->extent),
                           .given = large->given,
                           .huge = large->huge};
    rest->resident = large->resident / (large->extent / UNIT_SIZE) * (rest->extent / UNIT_SIZE);
    large->resident -= rest->resident;
    large_shorten(large, extent);
    return rest;
}

/* The slack of the live block that has had it for longest, as a mapping. */
static struct large *large_give_up_slack(void) {
    struct large *large = larges.roomy.oldest;
    if (!large)
        return NULL;
    large_leave(large);
    struct large *rest = large_cut(large, large->bytes);
    large_count_live(large);
    return rest;
}

/* All that is recent waits in spare's order from here on. What that is too much for is linked to *out. */
static void large_gather(struct large **out) {
    for (struct large *large; (large = spare_recent_take(&larges.recent, 0, SIZE_MOST)) != NULL;) {
        larges.held -= large_weight(large);
        large_wait(large);
        if (larges.waiting > LARGE_WAITING_MOST)
            large_push(out, large_give_up_oldest());
    }
}

/* As much is in memory as `bytes` need, nearly: then hardly another page will be touched. */
static bool large_is_warm_for(const struct large *large, size_t bytes) {
    return large->resident >= bytes - bytes / 4;
}

static bool large_is_warm(const struct large *large) {
    return large_is_warm_for(large, large->extent);
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

/* Takes out what is held above the bounds, linked by next: to be released without the lock. */
static struct large *large_excess(void) {
    return UNLIKELY(large_holds_too_much()) ? large_take_excess() : NULL;
}

/* ---- giving back: without the lock ---- */

/* Unmaps; what the kernel refuses to unmap gives its pages back and waits for reuse, P3. */
static bool large_unmap(struct large *large) {
    if (os_unmap(large->start, large->extent)) {
        large_count_mapped(-large->extent);
        large_give_record(large);
        return true;
    }
    os_advise(large->start, large->extent, OS_DONTNEED);
    favour_take(&larges.lock);
    large_push(&larges.stuck, large);
    favour_release(&larges.lock);
    return false;
}

/* Returns the bytes that went home. */
static size_t large_release(struct large *large) {
    size_t bytes = large->extent;
    if (!large->home)
        return large_unmap(large) ? bytes : 0;
    pagemap_set(large->start, bytes >> UNIT_SHIFT, PAGEMAP_NONE, NULL);
    superslab_give(large->home, large->start, (unsigned)(bytes >> UNIT_SHIFT));
    large_give_record(large);
    return 0;
}

static NOINLINE void large_release_list(struct large *out) {
    while (out)
        large_release(large_pop(&out));
}

/* Releases what is linked by next. */
static void large_release_all(struct large *out) {
    if (UNLIKELY(out != NULL))
        large_release_list(out);
}

/* After more has become live; a block that was taken from those that wait, if any, waits on. */
static void large_settle(struct large *again) {
    large_have_record();
    favour_take(&larges.lock);
    if (again)
        large_wait(again);
    struct large *out = large_excess();
    favour_release(&larges.lock);
    large_release_all(out);
}

/* What of these bytes is in memory says how the program writes: a huge page fits, and the pages are small and nobody else's. */
static bool large_tells(const struct large *large, size_t bytes) {
    return bytes >= HUGE_LEAST && !large->huge && !large->given;
}

/* Measures what is in memory of a block that has just left; the lock is not held meanwhile. */
static NOINLINE void large_measure(struct large *large) {
    size_t before = large->resident;
    favour_release(&larges.lock);
    enum pages_density density;
    large->resident = pages_resident(large->start, large->extent, &density);
    if (large_tells(large, large->extent))
        huge_learn(density);
    favour_take(&larges.lock);
    size_t change = large->resident > before ? large->resident - before : before - large->resident;
    bool same = large->every > 0 && change <= large->extent / 16;
    large->every = !same ? 1 : large->every < LARGE_MEASURE_MOST ? large->every * 4 : large->every;
    large->due = large->every;
}

/* Under the lock, which it releases. */
static NOINLINE void large_let_wait(struct large *large) {
    struct large *out = large;
    large_leave(large);
    if (large->due == 0)
        large_measure(large);
    large->due--;
    if (large->resident > larges.cache_limit || larges.cache_limit == 0) {
        large->next = NULL;
    } else {
        large_wait(large);
        out = large_excess();
    }
    ASSERT(P2, spare_resident_bytes() + larges.recent.bytes <= larges.cache_limit || out);
    favour_release(&larges.lock);
    large_release_all(out);
}

/* A block that need not be measured comes to hand; it goes on counting as held, so nothing is too much. */
static bool large_put_recent(struct large *large) {
    size_t keep = limit_keep(larges.cache_limit, larges.recent.bytes), most = keep / 2;
    size_t waiting = spare_resident_bytes();
    if (UNLIKELY(waiting > most))
        most = keep > waiting ? keep - waiting : 0;
    if (UNLIKELY(large->due == 0 || large->roomy) || !spare_recent_put(&larges.recent, large, most))
        return false;
    large->due--;
    larges.live -= large->bytes;
    return true;
}

FLATTEN void large_delete(struct large *large) {
    pagemap_set(large->start, 1, PAGEMAP_NONE, NULL);
    favour_take(&larges.lock);
    if (UNLIKELY(!large_put_recent(large)))
        large_let_wait(large);
    else
        favour_release(&larges.lock);
}

/* ---- a block ---- */

/* The first stuck mapping, if it is good for the request: what cannot go home is at least used again. */
static struct large *large_take_stuck(size_t bytes, size_t alignment) {
    struct large *large = larges.stuck;
    if (!large || large->extent < bytes || ((uintptr_t)large->start & (alignment - 1)) != 0)
        return NULL;
    return large_pop(&larges.stuck);
}

/* A mapping to be used instead of a new one: what is mapped stays within what was once live and what may wait, so
 * beyond that a longer one serves, and lends the rest. NULL: there is room for a new one. */
static struct large *large_take_any(size_t bytes, size_t alignment) {
    favour_take(&larges.lock);
    struct large *large = large_take_stuck(bytes, alignment);
    if (!large && larges.mapped_bytes + bytes > larges.live_peak + larges.cache_limit)
        large = large_take_waiting(bytes, SIZE_MOST, alignment, true);
    favour_release(&larges.lock);
    return large;
}

/* A new mapping. `replaced` bytes are held by the block that is to move into it. */
static struct large *large_map(size_t bytes, size_t alignment, size_t replaced) {
    limit_count_mappings();
    if (!limit_take(bytes - replaced))
        return NULL;
    limit_hold(replaced);
    struct large *large = large_take_record();
    if (!large) {
        limit_give(bytes);
        return NULL;
    }
    bool huge = huge_wants(bytes);
    if (huge && alignment < HUGE_LEAST)
        alignment = HUGE_LEAST;
    large->extent = bytes;
    large->start = os_map_aligned(bytes, alignment, pagemap_hint_mapping(bytes, alignment));
    if (large->start && pagemap_reserve(large->start, 1)) {
        os_name(large->start, bytes, OS_LARGE);
        large->huge = huge && huge_ask(large->start, bytes);
        if (!large->huge && bytes >= HUGE_LEAST)
            huge_watch(large->start);
        large_count_mapped(bytes);
        return large;
    }
    limit_give(bytes);
    if (large->start)
        os_unmap(large->start, bytes);
    large_give_record(large);
    return NULL;
}

/* The areas of `target` when those of a block have been laid over its first ones. False: they would be too many, or what is
 * behind them is worth nothing. */
static bool large_lay_over(const struct large *large, const struct large *target, struct seams *result) {
    bool worth = target->resident > 0 || large->home;
    return worth && seams_lay_over(&target->seams, target->extent, &large->seams, large->extent, result);
}

/* Moves the pages of a block over the first ones of `target`, area by area. Unless what is behind them stays, the last area takes
 * the place of all that is left of the target. What cannot be moved after the first is copied: then it stays where it was, too, and
 * that is lost. */
static bool large_move_pages(const struct large *large, struct large *target) {
    struct seams unused;
    bool room = large_lay_over(large, target, &unused);
    if (large->home)
        return os_move_out(large->start, large->extent, target->start);
    for (unsigned area = 0, last = seams_count(&large->seams); area <= last; area++) {
        size_t from = seams_begin(&large->seams, area, 0),
               bytes = seams_begin(&large->seams, area + 1, large->extent) - from;
        size_t becomes = area == last && !room ? target->extent - from : bytes;
        if (os_remap_to(large->start + from, bytes, becomes, target->start + from))
            continue;
        if (area == 0)
            return false;
        memcpy(target->start + from, large->start + from, bytes);
        os_unmap(large->start + from, bytes);
    }
    return true;
}

static void large_swap_place(struct large *large, struct large *target) {
    struct large old = *large;
    bool room = large_lay_over(&old, target, &large->seams);
    if (!room)
        large->seams = old.seams;
    if (room && old.extent < target->extent) {
        large->huge = target->huge;
        large->given |= target->resident > 0;
        large->resident = target->resident;
    }
    large->start = target->start;
    large->home = NULL;
    large->extent = target->extent;
    *target = old;
}

/* A waiting mapping that is as long now; the lock is not held. */
static bool large_stretch(struct large *large, size_t bytes) {
    size_t before = large->extent, last = seams_last(&large->seams);
    if (!limit_take(bytes - before))
        return false;
    if (os_remap(large->start + last, before - last, bytes - last, false)) {
        large_count_mapped(bytes - before);
        large->extent = bytes;
        return true;
    }
    limit_give(bytes - before);
    struct large *target = large_map(bytes, UNIT_SIZE, before);
    if (!target)
        return false;
    if (!large_move_pages(large, target)) {
        large_release(target);
        return false;
    }
    large_swap_place(large, target);
    large_count_mapped(-target->extent);
    large_give_record(target);
    return true;
}

/* A mapping that was taken to serve. It waits on, unless it is warm. */
static struct large *large_if_warm_for(struct large *large, size_t bytes) {
    if (!large || large_is_warm_for(large, bytes))
        return large;
    large_wait(large);
    return NULL;
}

static struct large *large_if_warm(struct large *large) {
    return large_if_warm_for(large, large ? large->extent : 0);
}

/* What waits, is in memory and has the last `tail` bytes for a mapping that was stretched, or some of them. */
static struct large *large_take_donor(size_t tail) {
    size_t fit = spare_round(tail);
    favour_take(&larges.lock);
    struct large *donor = large_take_waiting(fit, SIZE_MOST, UNIT_SIZE, true);
    donor = large_if_warm(donor);
    if (!donor && larges.roomy.oldest && large_is_warm(larges.roomy.oldest))
        donor = large_give_up_slack();
    if (!donor)
        donor = large_if_warm(large_waited(spare_take_shorter(fit, tail / LARGE_STRETCH)));
    favour_release(&larges.lock);
    return donor;
}

/* Moves the last pages of a donor, from its last area, over those of a mapping before `end`, `most` bytes at most. Returns how many
 * bytes: 0 when that is refused, or would be an area too many. The donor waits on, with what is left of it. */
static size_t large_give_pages(struct large *donor, struct large *large, size_t end, size_t most) {
    size_t last = donor->extent - seams_last(&donor->seams), piece = most < last ? most : last,
           left = donor->extent - piece;
    if (!seams_add(&large->seams, end - piece) ||
        !os_remap_to(donor->start + left, piece, piece, large->start + end - piece))
        piece = 0;
    if (piece > 0) {
        large->huge = end == large->extent ? donor->huge : large->huge;
        large->given = true;
        large_count_mapped(-piece);
        large_shorten(donor, left);
    }
    if (donor->extent == 0)
        large_give_record(donor);
    else
        large_settle(donor);
    return piece;
}

/* Instead of faulting what is above `from`, a mapping gets the pages of others that wait. Returns whether it got any, which do not
 * read as zero. docs/experiments/pages-of-what-waits.md */
static bool large_fill(struct large *large, size_t from) {
    size_t end = large->extent;
    for (size_t piece = 1; piece > 0 && end - from >= MOVE_FROM && limit_may_split(); end -= piece) {
        limit_count_mappings();
        large_have_record();
        struct large *donor = large_take_donor(end - from);
        piece = donor ? large_give_pages(donor, large, end, end - from) : 0;
    }
    bool any = end < large->extent;
    if (any)
        huge_watch(NULL);
    return any;
}

/* For a long block, or where something that waits would have to go home for a new one: the longest mapping that waits and is
 * too short (one that is in memory, unless it is long), stretched, so that only its new pages are faulted. */
static struct large *large_take_stretched(size_t bytes, size_t alignment) {
    if (alignment > UNIT_SIZE)
        return NULL;
    favour_take(&larges.lock);
    bool stretches = bytes > LARGE_LONG || large_is_crowded(bytes);
    struct large *large = stretches ? large_waited(spare_take_shorter(bytes, bytes / LARGE_STRETCH)) : NULL;
    if (bytes <= LARGE_LONG)
        large = large_if_warm(large);
    favour_release(&larges.lock);
    if (!large)
        return NULL;
    size_t before = large->extent;
    if (large_stretch(large, bytes)) {
        large_fill(large, before);
        return large;
    }
    large_settle(large);
    return NULL;
}

/* What waits would have to go home for a new mapping: its pages do not. */
static struct large *large_map_crowded(size_t bytes, size_t alignment, bool *zeroed) {
    favour_take(&larges.lock);
    bool crowded = large_is_crowded(bytes);
    favour_release(&larges.lock);
    struct large *large = large_map(bytes, alignment, 0);
    *zeroed = !(large && crowded && large_fill(large, 0));
    return large;
}

static struct large *large_new_mapping(size_t bytes, size_t alignment, bool *zeroed) {
    struct large *large = large_take_any(bytes, alignment);
    if (!large)
        large = large_take_stretched(bytes, alignment);
    *zeroed = false;
    return large ? large : large_map_crowded(bytes, alignment, zeroed);
}

/* The pages above `size` go home where a burst of small blocks has touched them all: the program may never touch
 * them again. docs/experiments/peak-rss.md */
static void large_give_tail_home(const struct large *large, size_t size) {
    size_t used = align_up(size, os_page_size());
    if (large->extent - used >= large->extent / LARGE_TAIL_LEAST && limit_may_purge())
        superslab_decommit(large->start + used, large->extent - used);
}

static struct large *large_new_run(size_t size, size_t bytes, bool grows, bool *zeroed) {
    unsigned units = (unsigned)(bytes >> UNIT_SHIFT);
    struct large *large = large_take_record();
    if (!large)
        return NULL;
    struct superslab_run run = grows ? superslab_take_roomy(units) : superslab_take(units);
    if (!run.start) {
        large_give_record(large);
        return NULL;
    }
    large->start = run.start;
    large->home = run.home;
    large->extent = bytes;
    *zeroed = run.zeroed;
    if (run.full)
        large_give_tail_home(large, size);
    pagemap_set(run.start + UNIT_SIZE, units - 1, PAGEMAP_RUN_INSIDE, large);
    return large;
}

/* One of those freed last, of nearly the same size: then its last bytes fall on pages that were touched before. */
static struct large *large_take_recent(size_t bytes, size_t fit, size_t alignment) {
    struct large *large =
        alignment > UNIT_SIZE ? NULL : spare_recent_take(&larges.recent, fit, bytes + bytes / 8);
    if (UNLIKELY(!large))
        return NULL;
    larges.held -= large_weight(large);
    large->bytes = bytes;
    larges.held += large_weight(large);
    large_count_bytes(large);
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
        large = large_if_warm_for(large_take_waiting(fit, most, alignment, true), fit);
    }
    if (large || fit <= RUN_LARGEST)
        return large;
    return large_take_waiting(fit > least ? fit : least, SIZE_MOST, alignment, true);
}

/* A waiting block that wastes at most a quarter, or a longer one; and what has to go because it is live now. Under the
 * lock, which it releases. */
static NOINLINE struct large *large_take_fit(size_t bytes, size_t fit, size_t alignment) {
    struct large *large = large_take_waiting(fit, fit + fit / 4, alignment, false), *out = NULL;
    if (!large && bytes >= LONGER_FROM)
        large = large_take_longer(fit, alignment, &out);
    if (large) {
        large_enter(large, bytes);
        if (!out)
            out = large_excess();
    }
    favour_release(&larges.lock);
    large_release_all(out);
    return large;
}

/* A run or a mapping of the kernel's, or a waiting block that nearly fits only with a cut. */
static NOINLINE struct large *large_new_from_below(size_t size, size_t bytes, size_t fit, size_t alignment,
                                                   bool grows, bool *zeroed) {
    bool run = bytes <= RUN_LARGEST && alignment == UNIT_SIZE;
    struct large *large =
        run ? large_new_run(size, bytes, grows, zeroed) : large_new_mapping(fit, alignment, zeroed);
    if (!large)
        return NULL;
    favour_take(&larges.lock);
    bool first = larges.live_peak == 0;
    large_enter(large, bytes);
    favour_release(&larges.lock);
    if (first)
        favour_prepare();
    large_settle(NULL);
    return large;
}

static ALWAYS_INLINE void *large_hand_out(struct large *large) {
    if (UNLIKELY(!large))
        return NULL;
    large->grew = large->whole = false;
    large->looked = 0;
    pagemap_set(large->start, 1, large->home ? PAGEMAP_RUN : PAGEMAP_MAPPING, large);
    return large->start;
}

static ALWAYS_INLINE void *large_new_block(size_t size, size_t alignment, bool grows, bool *zeroed) {
    if (size > SIZE_MOST || alignment > PTRDIFF_MAX / 2)
        return NULL;
    alignment = alignment < UNIT_SIZE ? UNIT_SIZE : alignment;
    size_t bytes = align_up(size ? size : 1, UNIT_SIZE), fit = spare_round(bytes);
    *zeroed = false;
    favour_take(&larges.lock);
    struct large *large = large_take_recent(bytes, fit, alignment);
    if (LIKELY(large))
        favour_release(&larges.lock);
    else
        large = large_take_fit(bytes, fit, alignment);
    if (UNLIKELY(!large))
        large = large_new_from_below(size, bytes, fit, alignment, grows, zeroed);
    ASSERT(P1, !large || ((uintptr_t)large->start & (alignment - 1)) == 0);
    return large_hand_out(large);
}

FLATTEN void *large_new(size_t size, size_t alignment, bool *zeroed) {
    return large_new_block(size, alignment, false, zeroed);
}

/* Room for each of many would spread them over three times the addresses, and over pages that are not warm. */
static bool large_has_few(void) {
    favour_take(&larges.lock);
    bool few = larges.live < RUN_LARGEST;
    favour_release(&larges.lock);
    return few;
}

NOINLINE void *large_new_to_grow(size_t size, bool again) {
    size_t bytes = align_up(size, UNIT_SIZE);
    bool zeroed, grows = size <= RUN_LARGEST && large_has_few();
    if (again && grows)
        return large_hand_out(large_new_from_below(size, bytes, bytes, UNIT_SIZE, true, &zeroed));
    return large_new_block(size, UNIT_SIZE, grows, &zeroed);
}

/* ---- resizing ---- */

/* The block gets another length, and stands on `extent` bytes now. */
static void *large_set(struct large *large, size_t bytes, size_t extent) {
    favour_take(&larges.lock);
    large_leave(large);
    large->extent = extent;
    large->resident = large->resident < extent ? large->resident : extent;
    large_enter(large, bytes);
    favour_release(&larges.lock);
    return large->start;
}

/* Grows within the slack; when that is not what is wanted, the slack stays as it is until the block is set anew. */
static bool large_grow_inside(struct large *large, size_t bytes) {
    favour_take(&larges.lock);
    bool inside = bytes > large->bytes && bytes <= large->extent;
    if (inside) {
        large_leave(large);
        large_enter(large, bytes);
    } else {
        large_keep_slack(large);
    }
    favour_release(&larges.lock);
    return inside;
}

/* Where a block that grows finds warm pages: the smallest mapping that waits and is long enough, if at least half of it
 * is in memory; for a run one that has grown, too, or is not much longer: others have other uses. */
static struct large *large_warm_target(const struct large *large, size_t bytes) {
    favour_take(&larges.lock);
    struct large *target = large_take_waiting(bytes, SIZE_MOST, UNIT_SIZE, true);
    favour_release(&larges.lock);
    if (!target)
        return NULL;
    bool of_its_kind = !large->home || target->grew || target->extent <= 2 * bytes;
    struct seams unused;
    if (of_its_kind && target->resident >= target->extent / 2 && large_lay_over(large, target, &unused))
        return target;
    large_settle(target);
    return NULL;
}

/* A block is about to grow: whether its small pages say that it is written whole. Looked at when it has become twice as long. */
static void large_look(struct large *large) {
    if (!large_tells(large, large->bytes) || large->bytes / 2 < large->looked)
        return;
    large->looked = large->bytes;
    large->whole = huge_look(large->start, large->bytes);
}

/* Asks for huge pages for where the block grows. */
static bool large_ask(const struct large *large, void *start, size_t extent) {
    return large->whole && !large->huge && huge_ask(start, extent);
}

/* Moves the block's pages to the mapping `target`. The old addresses lose their tag before another thread can get them. */
static void *large_move(struct large *large, size_t bytes, struct large *target) {
    if (!target)
        return NULL;
    uint32_t tag = large->home ? PAGEMAP_RUN : PAGEMAP_MAPPING;
    pagemap_set(large->start, 1, PAGEMAP_NONE, NULL);
    if (!large_move_pages(large, target)) {
        pagemap_set(large->start, 1, tag, large);
        if (target->resident > 0) /* it waited, and is as it was */
            large_settle(target);
        else
            large_release(target);
        return NULL;
    }
    bool asked = large_ask(large, target->start, target->extent);
    favour_take(&larges.lock);
    large_leave(large);
    large_swap_place(large, target);
    large->huge |= asked;
    large_enter(large, bytes);
    favour_release(&larges.lock);
    size_t units = target->extent >> UNIT_SHIFT;
    if (target->home) {
        pagemap_set(target->start, units, PAGEMAP_NONE, NULL);
        superslab_give_empty(target->home, target->start, (unsigned)units);
    } else {
        large_count_mapped(-target->extent);
    }
    large_give_record(target);
    pagemap_set(large->start, 1, PAGEMAP_MAPPING, large);
    return large->start;
}

static void *large_resize_run(struct large *large, size_t bytes) {
    size_t before = large->extent, units = before >> UNIT_SHIFT;
    if (bytes < before) {
        large_set(large, bytes, bytes);
        pagemap_set(large->start + bytes, units - (bytes >> UNIT_SHIFT), PAGEMAP_NONE, NULL);
        superslab_give(large->home, large->start + bytes, (unsigned)(units - (bytes >> UNIT_SHIFT)));
        return large->start;
    }
    /* The earlier into what the last one of its kind has left, the fewer pages move: they are missed where the next one
     * begins. */
    size_t extent = spare_round(bytes);
    bool moves = large->bytes >= MOVE_FROM;
    void *moved = moves ? large_move(large, bytes, large_warm_target(large, extent)) : NULL;
    if (moved)
        return moved;
    unsigned more = (unsigned)((bytes - before) >> UNIT_SHIFT);
    if (bytes <= RUN_LARGEST && superslab_extend(large->home, large->start, (unsigned)units, more)) {
        pagemap_set(large->start + before, more, PAGEMAP_RUN_INSIDE, large);
        return large_set(large, bytes, bytes);
    }
    return moves ? large_move(large, bytes, large_map(extent, UNIT_SIZE, before)) : NULL;
}

static void *large_shrink_mapping(struct large *large, size_t bytes) {
    size_t extent = spare_round(bytes), before = large->extent;
    if (extent >= before || (bytes <= RUN_LARGEST && bytes <= large->bytes / 2))
        return extent < before ? NULL : large_set(large, large->bytes, before); /* NULL: alloc copies */
    if (!os_unmap(large->start + extent, before - extent))
        return large_set(large, large->bytes, before); /* its slack counts again */
    large_count_mapped(extent - before);
    large_end_areas(large, extent);
    return large_set(large, bytes, extent);
}

static void *large_resize_mapping(struct large *large, size_t bytes) {
    size_t before = large->extent, extent = spare_round(bytes);
    if (bytes < large->bytes)
        return large_shrink_mapping(large, bytes);
    struct large *warm = large_warm_target(large, extent);
    if (warm)
        return large_move(large, bytes, warm);
    if (!limit_take(extent - before))
        return NULL;
    size_t last = seams_last(&large->seams);
    if (!os_remap(large->start + last, before - last, extent - last, false)) {
        limit_give(extent - before);
        return large_move(large, bytes, large_map(extent, UNIT_SIZE, before));
    }
    large_count_mapped(extent - before);
    large->huge |= large_ask(large, large->start, extent);
    return large_set(large, bytes, extent);
}

void *large_resize(struct large *large, size_t size) {
    if (size > SIZE_MOST)
        return NULL;
    size_t bytes = align_up(size, UNIT_SIZE);
    if (bytes <= large->bytes && large->bytes - bytes <= bytes / 8)
        return large->start;
    void *start = large->start;
    if (!large_grow_inside(large, bytes)) {
        if (bytes > large->bytes)
            large_look(large);
        start = large->home ? large_resize_run(large, bytes) : large_resize_mapping(large, bytes);
    }
    if (!start) /* its slack counts again */
        large_set(large, large->bytes, large->extent);
    large_settle(NULL);
    return start;
}

/* ---- all in all ---- */

/* What goes next: what has waited longest, while more than `keep` bytes wait, then, if `slack`, that of live blocks. NULL: no more. */
static struct large *large_give_up(size_t keep, bool slack) {
    favour_take(&larges.lock);
    struct large *large = spare_waiting_bytes() > keep ? large_give_up_oldest() : NULL;
    if (!large && slack)
        large = large_give_up_slack();
    favour_release(&larges.lock);
    return large;
}

/* Everything that waits is where it can be given up, from here on until somebody frees a block. */
static void large_gather_now(void) {
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
    for (unsigned i = 0; i < LARGE_WAITING_MOST && (large = large_give_up(keep, false)) != NULL; i++)
        purged += large_release(large);
    return purged;
}

size_t large_waiting_bytes(void) {
    return spare_waiting_bytes() + __atomic_load_n(&larges.recent.bytes, __ATOMIC_RELAXED) +
           __atomic_load_n(&larges.slack, __ATOMIC_RELAXED);
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
