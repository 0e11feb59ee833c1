/* What each thread has at hand, where several take and free large blocks by turns: so that none waits for another. */
#include "large_parts.h"

THREAD_LOCAL struct large_hand *large_hand;

/* Of one hand, in addresses, as what was measured may be long ago. docs/experiments/large-blocks-at-hand.md */
#define HAND_EXTENT (8 * MIB)

enum {
    HANDS_LEAST = 4,   /* hold something at once ... */
    PEAK_SHARE = 4,    /* ... or more, up to a part of what was once live, ... */
    CACHE_SHARE = 4,   /* ... and in no case more than a part of what may wait */
    LARGEST_SHARE = 4, /* a block may hold such a part of a hand */
    LOW = 4,           /* with as many blocks a hand is refilled */
    RENEWED = 16       /* each time that it was too full for so many it gives half away: they may be of no use */
};

/* To something only by its thread, to nothing only inside `visit`. */
static void large_hand_allow(struct large_hand *hand, bool may) {
    __atomic_fetch_add(&larges.hands, may ? 1 : -1u, __ATOMIC_RELAXED); /* a bound that a few may miss */
    __atomic_store_n(&hand->may, may, __ATOMIC_RELAXED);
}

static bool large_may_use_more_hands(void) {
    size_t bytes = large_at_hand(), most = larges.live_peak / PEAK_SHARE, least = HANDS_LEAST * LARGE_HAND_MOST;
    most = most > least ? most : least;
    return bytes < (most < larges.cache_limit / CACHE_SHARE ? most : larges.cache_limit / CACHE_SHARE);
}

void large_hand_consider(void) {
    struct large_hand *hand = large_hand;
    if (hand && favour_is_shared(&larges.lock) && !large_hand_is_used(hand) && large_may_use_more_hands())
        large_hand_allow(hand, true);
}

/* ---- inside `visit` ---- */

static bool large_hand_add(struct large_hand *hand, struct large *large) {
    size_t most = limit_keep(LARGE_HAND_MOST, hand->recent.resident);
    return large_hand_is_used(hand) && spare_recent_put(&hand->recent, large, most, HAND_EXTENT);
}

/* Takes out what is more than `stay` blocks, linked by next. */
static struct large *large_hand_down_to(struct large_hand *hand, unsigned stay) {
    struct large *out = NULL;
    while (hand->recent.count > stay)
        large_push(&out, spare_recent_take(&hand->recent, 0, LARGE_MOST));
    return out;
}

/* Takes out all; it may hold nothing until it is considered again. */
static struct large *large_hand_end(struct large_hand *hand) {
    if (large_hand_is_used(hand))
        large_hand_allow(hand, false);
    return large_hand_down_to(hand, 0);
}

static void large_hand_count_use(struct large_hand *hand) {
    __atomic_store_n(&hand->uses, hand->uses + 1, __ATOMIC_RELAXED); /* read by large_hand_visit */
}

/* ---- its thread ---- */

bool large_hand_put(struct large *large) {
    struct large_hand *hand = large_hand;
    if (large->due == 0 || !large->home || large->resident > LARGE_HAND_MOST / LARGEST_SHARE)
        return false;
    struct large *out = NULL;
    visit_enter(&hand->visit);
    bool put = large_hand_add(hand, large);
    if (put)
        large->due--;
    else if (++hand->refused % RENEWED == 0)
        out = large_hand_down_to(hand, hand->recent.count / 2);
    large_hand_count_use(hand);
    visit_leave(&hand->visit);
    large_put_all(out);
    return put;
}

struct large *large_hand_take(size_t bytes) {
    struct large_hand *hand = large_hand;
    visit_enter(&hand->visit);
    struct large *large = spare_recent_take(&hand->recent, bytes, large_nearly(bytes));
    hand->low = hand->recent.count <= LOW;
    large_hand_count_use(hand);
    visit_leave(&hand->visit);
    return large;
}

struct large *large_hand_more(size_t bytes) {
    struct large *more = NULL, *large;
    for (unsigned i = 0; large_hand->low && i < LARGE_REFILL; i++) {
        large = spare_recent_find(&larges.recent, bytes, large_nearly(bytes));
        if (!large || !large->home)
            break;
        spare_recent_take(&larges.recent, bytes, large_nearly(bytes));
        large_count_bytes(large);
        large_push(&more, large);
    }
    return more;
}

void large_hand_fill(struct large *more) {
    if (!more)
        return;
    struct large_hand *hand = large_hand;
    struct large *out = NULL;
    visit_enter(&hand->visit);
    for (struct large *large; (large = large_pop(&more)) != NULL;)
        if (!large_hand_add(hand, large))
            large_push(&out, large);
    visit_leave(&hand->visit);
    large_put_all(out);
}

void large_hand_empty(struct large_hand *hand) {
    if (!large_hand_is_used(hand))
        return;
    visit_enter(&hand->visit);
    struct large *out = large_hand_end(hand);
    visit_leave(&hand->visit);
    large_put_all(out);
}

/* ---- a visitor ---- */

bool large_hand_visit(struct large_hand *hand, bool now) {
    if (!large_hand_is_used(hand))
        return false;
    uint32_t uses = __atomic_load_n(&hand->uses, __ATOMIC_RELAXED);
    bool rests = uses == hand->seen;
    hand->seen = uses;
    if ((!rests && !now) || !visit_begin(&hand->visit))
        return true;
    struct large *out = large_hand_end(hand);
    visit_end(&hand->visit);
    large_put_all(out);
    return false;
}
