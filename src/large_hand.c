/* What each thread has at hand, where several take and free large blocks by turns: so that none waits for another. */
#include "large_parts.h"

#include "metadata.h"
#include "os.h"

#define HAND_STEP (512 * KIB) /* bytes by which a hand grows */

enum {
    CACHE_SHARE = 4,   /* all hands together may hold such a part of what may wait */
    LARGEST_SHARE = 4, /* a block may hold such a part of a hand */
    LOW = 4,           /* with as many blocks a hand is refilled */
    GIVEN_SHARE = 4,   /* a hand that is full gives such a part away, ... */
    GIVEN = 8          /* ... so many at most */
};

/* To something by its thread, under the lock; to nothing inside `visit`: then the sums come last, for large_hands_in_child. */
static void large_hand_allow(struct large_hand *hand, bool may) {
    __atomic_store_n(&hand->may, may, __ATOMIC_RELEASE); /* with `recent`; pairs with large_hand_visit */
    __atomic_fetch_add(&larges.hands, may ? 1 : -1u, __ATOMIC_RELAXED);
    large_count_outside(may ? LARGE_HAND_LEAST : -LARGE_HAND_LEAST);
}

/* Of `most` bytes in memory, in addresses, as what was measured may be long ago. */
static size_t large_hand_extent(size_t most) {
    return LARGE_RECENT_EXTENT * (most > LARGE_HAND_FIRST ? most : LARGE_HAND_FIRST);
}

/* What each of so many may hold. */
static size_t large_hand_share(size_t hands) {
    return larges.cache_limit / CACHE_SHARE / (hands ? hands : 1);
}

/* From here on it may hold `most` bytes, or its share, which is less where hands are many. Who finds all it wants at hand, and room for
 * all it frees, keeps a bound of when hands were fewer: so all of them may hold up to twice as much as they should. */
static void large_hand_bound(struct large_hand *hand, size_t most) {
    size_t share = large_hand_share(__atomic_load_n(&larges.hands, __ATOMIC_RELAXED));
    most = most < LARGE_HAND_MOST ? most : LARGE_HAND_MOST;
    hand->most = share >= most ? most : share > LARGE_HAND_LEAST ? share : LARGE_HAND_LEAST;
}

static bool large_may_use_more_hands(void) {
    size_t hands = __atomic_load_n(&larges.hands, __ATOMIC_RELAXED) + 1, bytes = hands * LARGE_HAND_LEAST;
    return large_hand_share(hands) >= LARGE_HAND_LEAST && limit_keep(bytes, 0) == bytes && os_barrier_ready();
}

/* It comes when it is first wanted, and stays. False: no memory. */
static bool large_hand_has_room(struct large_hand *hand) {
    if (!hand->recent) /* release: read by stats, and by visitors */
        __atomic_store_n(&hand->recent, metadata_new(sizeof(struct spare_recent)), __ATOMIC_RELEASE);
    return hand->recent != NULL;
}

void large_hand_consider(void) {
    struct large_hand *hand = large_hand_mine();
    if (!hand || !favour_is_shared(&larges.lock))
        return;
    if (!large_hand_is_used(hand) && large_may_use_more_hands() && large_hand_has_room(hand))
        large_hand_allow(hand, true);
    large_hand_bound(hand, hand->most > LARGE_HAND_FIRST ? hand->most : LARGE_HAND_FIRST);
}

/* ---- inside `visit` ---- */

/* A run, and not more of a hand of `most` bytes than its share. Asked first of a live block: of a mapping any thread may take the slack
 * meanwhile, and what says how long it is. */
static bool large_fits_hand(const struct large *large, size_t most) {
    return large->home && large->resident <= most / LARGEST_SHARE;
}

/* ... all of which can be used. */
static bool large_fits_whole(const struct large *large, size_t most) {
    return large_fits_hand(large, most) && large->bytes == large->extent;
}

static bool large_suits_within(const struct large *large, size_t most) {
    return large_fits_whole(large, most) && !large_is_in_field(large);
}

bool large_suits_hand(const struct large *large) {
    return large_suits_within(large, LARGE_HAND_MOST);
}

bool large_is_due_at_hand(const struct large *large) {
    return large->due == 0 && large_has_hand() && large_suits_within(large, large_hand_mine()->most);
}

/* `most`: bytes in memory. */
static ALWAYS_INLINE bool large_hand_add(struct large_hand *hand, struct large *large, size_t most) {
    return large_hand_is_used(hand) && spare_recent_put(hand->recent, large, most, large_hand_extent(most));
}

static bool large_hand_add_within(struct large_hand *hand, struct large *large) {
    return large_hand_add(hand, large, limit_keep(hand->most, hand->recent->resident));
}

/* Takes one out, of the first size from `from` units on that there is, else of the smallest; NULL: there is none. */
static struct large *large_hand_give(struct large_hand *hand, unsigned from) {
    struct large *large = spare_recent_take(hand->recent, from * (size_t)UNIT_SIZE, LARGE_MOST);
    return large ? large : spare_recent_take(hand->recent, 0, LARGE_MOST);
}

/* A hand that is too full gives a part away, linked by next: one of each size, in turn. So it keeps most of what its thread frees
 * most, and takes most, and what is of no use goes in the course of time. One of three blocks gives none: they come to hand only for
 * a while. */
static struct large *large_hand_renew(struct large_hand *hand) {
    struct large *out = NULL;
    unsigned count = hand->recent->count / GIVEN_SHARE;
    for (count = count < GIVEN ? count : GIVEN; count > 0; count--) {
        large_push(&out, large_hand_give(hand, hand->next));
        hand->next = (uint32_t)(out->extent >> UNIT_SHIFT) + 1;
    }
    return out;
}

/* Takes out all; it may hold nothing until it is considered again. */
static struct large *large_hand_end(struct large_hand *hand) {
    struct large *out = NULL, *large;
    if (large_hand_is_used(hand))
        large_hand_allow(hand, false);
    while (hand->recent && (large = large_hand_give(hand, 0)) != NULL)
        large_push(&out, large);
    return out;
}

/* ---- its thread ---- */

/* Its hold of `visit` ends. */
static ALWAYS_INLINE void large_hand_count_put(struct large_hand *hand, struct large *large) {
    large_begin_rest(large);
    large->due--;
    large_hand_count_use(hand);
    visit_leave(&hand->visit);
}

/* One that is too full grows where its thread frees what it took itself, and misses what it gave away. Where it frees what others took
 * its blocks go round among the threads whatever it holds. */
static void large_hand_adapt(struct large_hand *hand, const struct large *large) {
    hand->own = large->taken_by != hand ? 0 : hand->own < LARGE_HAND_OWN ? hand->own + 1 : LARGE_HAND_OWN;
    large_hand_bound(hand, hand->own == LARGE_HAND_OWN ? hand->most + HAND_STEP : LARGE_HAND_FIRST);
}

/* When it is full, or somebody visits it, or near a limit. */
static NOINLINE bool large_hand_put_after(struct large_hand *hand, struct large *large) {
    struct large *out = NULL;
    visit_enter(&hand->visit);
    bool put = large_hand_add_within(hand, large);
    if (!put && large_hand_is_used(hand) && !limit_is_watching()) {
        large_hand_adapt(hand, large);
        put = large_hand_add_within(hand, large);
    }
    if (!put) {
        out = large_hand_renew(hand);
        put = large_hand_add_within(hand, large);
    }
    if (put)
        large_hand_count_put(hand, large);
    else
        visit_leave(&hand->visit);
    large_put_all(out);
    return put;
}

NOINLINE bool large_hand_rest(struct large_hand *hand, struct large *large) {
    if (UNLIKELY(!large_fits_whole(large, hand->most) || limit_is_watching() || !visit_try(&hand->visit)))
        return false;
    bool put = large_hand_add(hand, large, hand->most);
    if (LIKELY(put))
        large_hand_count_put(hand, large);
    else
        visit_leave(&hand->visit);
    return put;
}

bool large_hand_put(struct large *large) {
    struct large_hand *hand = large_hand_mine();
    return large_fits_whole(large, hand->most) && large->due != 0 && large_hand_put_after(hand, large);
}

NOINLINE struct large *large_hand_take(struct large_hand *hand, size_t bytes) {
    if (UNLIKELY(!visit_try(&hand->visit))) {
        hand->low = false;
        return NULL;
    }
    struct spare_recent *recent = hand->recent;
    struct large *large = spare_recent_take(recent, bytes, large_nearly(bytes));
    if (LIKELY(large != NULL)) {
        large->taken_by = hand;
        large_hand_count_use(hand);
    } else {
        hand->low = recent->count <= LOW && recent->resident <= hand->most / 2 &&
                    recent->bytes <= large_hand_extent(hand->most) / 2;
    }
    visit_leave(&hand->visit);
    return large;
}

/* What comes to a hand that was nearly empty. */
struct refill {
    struct large *out;
    size_t resident, extent;
    unsigned count;
};

/* Whether this one comes, too: up to LARGE_REFILL, which fill the half of it at most. */
static bool large_hand_wants(struct refill *refill, const struct large *large) {
    const struct large_hand *hand = large_hand_mine();
    if (!hand->low || refill->count++ == LARGE_REFILL || !large_fits_hand(large, hand->most))
        return false;
    refill->resident += large->resident;
    refill->extent += large->extent;
    return refill->resident < hand->most / 2 && refill->extent < large_hand_extent(hand->most) / 2;
}

/* One of those that wait rests from here on. */
static void large_hand_take_waiting(struct large *large) {
    spare_remove(large);
    large_waited(large);
    large_enter(large, large->extent);
    pagemap_set(large_unit(large), 1, PAGEMAP_RUN, large);
    large_begin_rest(large);
}

struct large *large_hand_more(size_t bytes, bool recent) {
    struct refill refill = {.out = NULL};
    size_t most = large_nearly(bytes);
    struct large *large;
    while ((large = recent ? spare_recent_find(&larges.recent, bytes, most)
                           : spare_find(bytes, most, UNIT_SIZE, SPARE_ANY)) != NULL &&
           large_hand_wants(&refill, large)) {
        if (recent)
            large_enter_again(spare_recent_take(&larges.recent, bytes, most), large->extent);
        else
            large_hand_take_waiting(large);
        large_push(&refill.out, large);
    }
    return refill.out;
}

void large_hand_fill(struct large *more) {
    if (!more)
        return;
    struct large_hand *hand = large_hand_mine();
    struct large *out = NULL;
    visit_enter(&hand->visit);
    for (struct large *large; (large = large_pop(&more)) != NULL;)
        if (!large_hand_add_within(hand, large))
            large_push(&out, large);
    visit_leave(&hand->visit);
    large_put_all(out);
}

void large_hand_empty(struct large_hand *hand) {
    visit_enter(&hand->visit);
    struct large *out = large_hand_end(hand);
    hand->most = hand->own = 0; /* the next thread's blocks are not this one's */
    visit_leave(&hand->visit);
    large_put_all(out);
}

/* ---- a visitor ---- */

/* A thread that looks after its own is no visitor: it needs no barrier, which a filter of system calls may forbid. */
bool large_hand_visit(struct large_hand *hand, bool now) {
    if (!__atomic_load_n(&hand->may, __ATOMIC_ACQUIRE)) /* pairs with large_hand_allow */
        return false;
    uint32_t uses = __atomic_load_n(&hand->uses, __ATOMIC_RELAXED);
    bool rests = uses == hand->seen;
    hand->seen = uses;
    if (!rests && !now)
        return true;
    if (hand == large_hand_mine()) {
        large_hand_empty(hand);
        return false;
    }
    if (!visit_begin(&hand->visit))
        return true;
    struct large *out = large_hand_end(hand);
    visit_end(&hand->visit);
    large_put_all(out);
    return false;
}

bool large_hand_in_child(struct large_hand *hand) {
    if (visit_is_busy(&hand->visit) && hand->recent) { /* torn */
        *hand->recent = (struct spare_recent){.count = 0};
        hand->may = false;
    }
    return hand->may;
}

/* Whoever forks holds the lock of visitors, and the room's. */
void large_hands_in_child(unsigned hands) {
    size_t outside = larges.slack + hands * LARGE_HAND_LEAST;
    if (larges.hands == hands && larges.outside == outside) /* nothing is written, and copied */
        return;
    larges.hands = hands;
    larges.outside = outside;
}
