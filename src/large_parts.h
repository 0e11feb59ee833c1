/* large_parts: what the parts of the room share.
 *
 *     large         a block: from what waits, from a superslab or a mapping; and back
 *     large_hold    what is live and what waits, in bytes; what is too much of it
 *     large_hand    what each thread has at hand, where several take turns
 *     large_clear   a block that is to read as zero
 *     large_field   a block in a field of superslabs, which never waits
 *     large_solid   a block that is a mapping of whole huge pages
 *     large_map     mappings: made, stretched, filled with the pages of those that wait
 *     large_resize  a block that grows or shrinks
 *     large_purge   all in all: what goes home now, or after a rest
 *
 * What the room promises to others is in large.h; to each other its parts promise:
 *
 * P1  the table has every block that waits in spare's order, once and without gaps, and no other
 * P2  who takes a block out of what waits either gives it to a program, lets it wait again or releases it
 * P3  what waits has no part in what is counted of live blocks, and a solid mapping consists of huge pages
 *
 * Called by the room large alone.
 */
#ifndef HAKMEM_LARGE_PARTS_H
#define HAKMEM_LARGE_PARTS_H

#include "dense.h"
#include "huge.h"
#include "large.h"
#include "lengths.h"

#define LARGE_RUN_MOST LENGTHS_RUN_MOST
#define LARGE_FIELD_MOST LENGTHS_MOST
#define LARGE_FIELD_LEAST ((size_t)DENSE_LARGE_LEAST * UNIT_SIZE) /* docs/experiments/fields.md */
#define LARGE_COPY_MOST \
    (128 * KIB) /* bytes of a run that are copied when it cannot grow: docs/experiments/growing-runs.md */
#define LARGE_FILL_LEAST (128 * KIB) /* bytes that are worth moving from what waits */
#define LARGE_MOST (PTRDIFF_MAX - 2 * (size_t)UNIT_SIZE)

struct larges {
    struct favour lock;
    struct large *unused;
    struct large *stuck;     /* mappings that the kernel would not unmap */
    struct spare_ages roomy; /* live blocks with much slack */
    size_t cache_limit, mapped_bytes;
    size_t live, live_peak; /* bytes of live blocks, and the most that there ever were at once */
    size_t held;            /* what live and recent blocks hold in memory, as far as that is known */
    size_t slack;           /* what roomy blocks stand on beyond their bytes */
    size_t
        outside; /* slack, and what hands may hold as measured, in one word, as each free reads it; atomic, relaxed: a hint */
    size_t unseen;       /* of long blocks that wait: what is not in memory, as last measured, but may be */
    uint32_t looks;      /* of large_purge_rested */
    unsigned waiting;    /* blocks in large_cache */
    unsigned hands;      /* that may hold something; atomic, relaxed */
    bool keeps_longer;   /* large_keep_longer */
    bool runs_in_fields; /* fields are for runs, too; atomic, relaxed */
    struct spare_recent recent; /* freed last: not in spare yet */
};

extern struct larges larges;

/* All that spare has, in no order: for who looks from outside. Apart: a program without large blocks touches none of it. */
extern struct large *large_cache[LARGE_WAITING_MOST + 1];

/* ---- records ---- */

static inline struct large *large_pop(struct large **list) {
    struct large *large = *list;
    if (large)
        *list = large->next;
    return large;
}

static inline void large_push(struct large **list, struct large *large) {
    large->next = *list;
    *list = large;
}

/* All zero; NULL: no memory. */
struct large *large_take_record(void);

void large_give_record(struct large *large);

/* There is one at hand to cut slack off with. */
void large_have_record(void);

/* ---- what is live, what waits: under the lock ---- */

/* What of a live block cannot be taken back: all of its bytes, and what is left of its last huge page where it has nothing else. */
static inline size_t large_keep(const struct large *large) {
    return UNLIKELY(large->solid) ? align_up(large->bytes, HUGE_LEAST) : large->bytes;
}

/* What a live block is taken to hold in memory: what was measured when it was freed before, else all of it; of a long one
 * always all. */
static inline size_t large_weight(const struct large *large) {
    if (UNLIKELY(large->solid))
        return large_keep(large);
    bool measured = large->every > 0 && large->bytes <= LARGE_LONG;
    return measured && large->resident < large->bytes ? large->resident : large->bytes;
}

/* A mapping is live, or is not any more: what it would hold if it were solid. */
static inline void large_count_rounding(struct large *large) {
    large->rounded = !large->home && lengths_is_counted(large->bytes);
    if (UNLIKELY(large->rounded))
        lengths_count(large->bytes, false);
}

static inline void large_end_rounding(struct large *large) {
    if (UNLIKELY(large->rounded))
        lengths_count(large->bytes, true);
    large->rounded = false;
}

/* What of live blocks can be taken back: any time, from anywhere. */
static inline void large_count_outside(size_t bytes) {
    __atomic_fetch_add(&larges.outside, bytes, __ATOMIC_RELAXED);
}

/* A block is live. */
static inline void large_count_bytes(const struct large *large) {
    larges.live += large->bytes;
    if (larges.live > larges.live_peak)
        larges.live_peak = larges.live;
}

/* It is to have so many bytes. Apart, as a hit hardly ever asks for it, and has no register to spare. */
void large_hold_as(struct large *large, size_t bytes);

/* One of those freed last is live again, with so many bytes. */
static inline void large_enter_again(struct large *large, size_t bytes) {
    if (UNLIKELY(large->bytes != bytes))
        large_hold_as(large, bytes);
    large_count_bytes(large);
}

/* The most bytes that what was freed last may have for these: its last ones then fall on pages that were touched before. */
static inline size_t large_nearly(size_t bytes) {
    return bytes + bytes / 8;
}

/* Of what waits: as much is in memory as `bytes` need, nearly: then hardly another page will be touched. */
static inline bool large_is_warm_for(const struct large *large, size_t bytes) {
    return large->resident >= bytes - bytes / 4;
}

static inline bool large_is_warm(const struct large *large) {
    return large_is_warm_for(large, large->extent);
}

/* What a mapping has beyond its bytes is slack that can be taken back. */
static inline bool large_is_roomy(size_t bytes, size_t extent) {
    return extent - bytes > bytes / (bytes > LARGE_LONG ? 16 : 4);
}

/* The block has `bytes` now, and stands on extent bytes. One that has grown is to be measured anew. */
void large_enter(struct large *large, size_t bytes);

/* From here on nobody else changes the block's extent. */
void large_keep_slack(struct large *large);

/* It is not live any more, or will be entered anew. */
void large_leave(struct large *large);

/* It rests, and may come to hand: from here on who frees it again is told. Under the lock, as of a live mapping any thread may take the
 * slack; for a run that comes to hand inside the hand's `visit`. */
static inline void large_begin_rest(struct large *large) {
    large->start += LARGE_AT_HAND;
}

/* It is at hand no longer, and nobody's: its tag goes. */
static inline void large_end_rest(struct large *large) {
    unsigned char *unit = large_unit(large) - LARGE_AT_HAND;
    pagemap_set(unit, 1, PAGEMAP_NONE, NULL); /* first: nobody is to find it live */
    large->start = unit;
}

/* It waits, whole. */
void large_wait(struct large *large);

/* Takes a block that spare has just let go out of the table: the last one gets its place. */
struct large *large_waited(struct large *large);

/* One that waits, as spare_take says. */
struct large *large_take_waiting(size_t bytes, size_t most, size_t alignment, enum spare_kind kind);

/* What live, waiting and lent bytes hold when `more` become live. */
size_t large_holds(size_t more);

/* Whether more would be held than ever was live: then what waits serves before the kernel is asked for more. */
bool large_is_crowded(size_t more);

/* The most that live and waiting blocks may hold then, together. */
size_t large_most(size_t more);

/* Bytes that would be too much for what was once live. More than crowds: who swings about that edge pays nothing. */
size_t large_overhang(size_t more);

/* What has waited longest; NULL: nothing waits. */
struct large *large_give_up_oldest(void);

/* The areas of a mapping that ends at `extent` from here on. What is known of new pages is known of its last area. */
void large_end_areas(struct large *large, size_t extent);

/* A mapping that is not live ends there. */
void large_shorten(struct large *large, size_t extent);

/* The slack of the live block that has had it for longest, as a mapping. */
struct large *large_give_up_slack(void);

/* One of `bytes` to `most` bytes that is recent, and rests no longer; it counts nowhere. NULL: there is none. */
struct large *large_take_rested(size_t bytes, size_t most);

/* All that is recent waits in spare's order from here on. What that is too much for is linked to *out. */
void large_gather(struct large **out);

/* Takes out what is held above the bounds, linked by next: to be released without the lock. */
struct large *large_excess(void);

/* A mapping that was taken to serve, or NULL. It waits on, unless it is warm. */
struct large *large_if_warm_for(struct large *large, size_t bytes);
struct large *large_if_warm(struct large *large);

/* ---- giving back: without the lock ---- */

/* What is more was allowed by limit_take before, and takes the place of what is free in fields; less is given back. */
void large_count_mapped(size_t bytes);

/* The block is no more: unmapped, or given to its superslab. Returns the bytes that went home. */
size_t large_release(struct large *large);

/* Releases what is linked by next. */
void large_release_list(struct large *out);

static inline void large_release_all(struct large *out) {
    if (UNLIKELY(out != NULL))
        large_release_list(out);
}

/* After more has become live; a block that was taken from those that wait, if any, waits on. */
void large_settle(struct large *again);

/* Everything that waits is where it can be given up, from here on until somebody frees a block. */
void large_gather_now(void);

/* ---- blocks in fields: without the lock ---- */

/* Whether a block is in a field: it never waits, nor is it at hand or measured, and it counts as nothing here. Then neighbours that are
 * free are one. */
static inline bool large_is_in_field(const struct large *large) {
    return large->home && large->home->field;
}

/* A block for a run of `bytes`: in memory of a field that is free, or in new one if such blocks are written whole. NULL: it has to be another; if *probe, one in small pages that tells
 * whether they still are. *zeroed as large_new. */
struct large *large_new_in_field(size_t bytes, bool *probe, bool *zeroed);

/* Whether a new run of `bytes` outside of fields is known to be written whole: then it lies among the slabs that fill their pages, once there
 * is enough of both. Each so many-th does not: *probe, it tells whether they still are. */
bool large_run_fills(size_t bytes, bool *probe);

/* Whether one of LARGE_FIELD_LEAST bytes or more may lie there: it is written whole, or (a run) there is memory already; what is longer than a run only where such blocks
 * are many and of many lengths. `plain`: neither aligned nor growing, which would be copied. */
bool large_suits_field(size_t bytes, bool plain);

/* Whether a block may be a mapping of whole huge pages: without the lock; and whether it is to be, as there are few enough of many
 * lengths: under the lock. */
static inline bool large_may_be_solid(size_t bytes) {
    return lengths_is_counted(bytes) && !limit_near() && limit_may_split() && huge_fills(bytes);
}

bool large_suits_solid(void);

/* What comes that may lie in a field or be solid, and what of it grows; `plain`: neither aligned nor growing. */
void large_note_run(size_t bytes);
void large_note_longer(size_t bytes, bool plain);
void large_note_growth(size_t bytes);

/* So many bytes went of a field or a mapping since the other brought new memory. Under the lock. */
static inline void large_note_exchange(size_t bytes) {
    lengths_note_exchange(bytes, larges.live_peak);
}

/* A block of so many units begins or (`ends`) ends to be in use, if it is in no field: they have a rule of their own. */
static inline void large_count_run(const struct large *large, size_t units, bool ends) {
    if (!large_is_in_field(large))
        dense_count(dense_kind_of_run(units), ends ? -units : units);
}

/* ---- mappings: without the lock ---- */

/* What of these bytes is in memory says how the program writes: they are enough, and the pages are small and nobody else's. */
static inline bool large_tells(const struct large *large, size_t bytes) {
    return bytes >= HUGE_TELLS && !large->home && !large->huge && !large->given;
}

/* It began with a head (huge_follows); and what it goes on with would be one again. */
static inline bool large_is_headed(const struct large *large) {
    return large->huge && huge_is_head(large_unit(large));
}

static inline bool large_goes_on_with_head(const struct large *large) {
    return large->huge && huge_is_head(large_unit(large) + large->extent);
}

/* A new mapping. `replaced` bytes are held by the block that is to move into it. */
struct large *large_map(size_t bytes, size_t alignment, size_t replaced);

/* The same, with small pages, which tell; with huge ones; or with those but for a head, which tells. */
enum large_pages { LARGE_PAGES_SMALL, LARGE_PAGES_HUGE, LARGE_PAGES_HEADED };
struct large *large_map_as(size_t bytes, size_t alignment, size_t replaced, enum large_pages pages);

/* A new mapping that the pages of a block are to move into: huge ones stay whole. */
struct large *large_map_to_move(const struct large *large, size_t bytes);

/* The areas of `target` when those of a block have been laid over its first ones. False: they would be too many, or what is
 * behind them is worth nothing. */
bool large_lay_over(const struct large *large, const struct large *target, struct seams *result);

/* Moves the pages of a block over the first ones of `target`, area by area. Unless what is behind them stays, the last area takes
 * the place of all that is left of the target. What cannot be moved after the first is copied: then it stays where it was, too, and
 * that is lost. */
bool large_move_pages(const struct large *large, struct large *target);

/* After that the block's record is of the place of `target`, and that of `target` of the block's old place. */
void large_swap_place(struct large *large, struct large *target);

/* Instead of faulting what is above `from`, a mapping gets the pages of others that wait. Returns whether it got any, which do not
 * read as zero. docs/experiments/pages-of-what-waits.md */
bool large_fill(struct large *large, size_t from);

/* One of whole huge pages that waits and is long enough; what is not of them and would serve goes, linked to *out. Under the lock. */
struct large *large_take_solid(size_t bytes, struct large **out);

/* A new one of whole huge pages; each so many-th has `fit` bytes in small ones, and tells. NULL: it is to be another mapping. */
struct large *large_new_solid(size_t bytes, size_t fit, bool *zeroed);

/* A mapping for a block: one that waits, stretched, or new. NULL: no memory. */
struct large *large_new_mapping(size_t bytes, size_t alignment, bool *zeroed);

/* ---- hands: without the lock, but where it says so ---- */

/* The calling thread's may hold something. */
static inline bool large_has_hand(void) {
    const struct large_hand *hand = large_hand_mine();
    return hand && large_hand_is_used(hand);
}

/* Whether it may from here on. Under the lock, for what a hand is of use for. */
void large_hand_consider(void);

/* A run, all of which can be used: its length stays what it is, for whoever takes it; and not more of a hand than its share. */
bool large_suits_hand(const struct large *large);

/* It would come to hand, but has to be measured first. */
bool large_is_due_at_hand(const struct large *large);

/* A live block comes to hand, and rests; only while large_has_hand, as the next ones. False: it is live still, and has to wait where all
 * find it. */
bool large_hand_put(struct large *large);

/* The hit of it, for a block that need not be measured: nobody is waited for. False also where that is not enough. */
bool large_hand_rest(struct large_hand *hand, struct large *large);

static ALWAYS_INLINE void large_hand_count_use(struct large_hand *hand) {
    __atomic_store_n(&hand->uses, hand->uses + 1, __ATOMIC_RELAXED); /* read by large_hand_visit */
}

/* One of nearly the size, which rests still; NULL: there is none, or a visitor is inside. */
struct large *large_hand_take(struct large_hand *hand, size_t bytes);

/* The hit of it: one of just as many units is likely, and quickly found. */
static ALWAYS_INLINE struct large *large_hand_pop(struct large_hand *hand, unsigned units) {
    if (UNLIKELY(!visit_try(&hand->visit)))
        return NULL;
    struct large *large = spare_recent_pop(hand->recent, units);
    if (LIKELY(large != NULL)) {
        large->taken_by = hand;
        large_hand_count_use(hand);
    }
    visit_leave(&hand->visit);
    return large;
}

/* Takes more of nearly the size out of what is `recent`, or else of what waits (`bytes` then a result of spare_round), linked by next, when the
 * hand is nearly empty: they count as live from here on. Under the lock. Then, without it, they come to hand. */
struct large *large_hand_more(size_t bytes, bool recent);
void large_hand_fill(struct large *more);

/* They rest, are live no longer, and wait where all threads find them; linked by next. */
void large_put_all(struct large *out);

/* ---- a block ---- */

/* The block gets another length, and stands on `extent` bytes now. */
void *large_set(struct large *large, size_t bytes, size_t extent);

#endif
