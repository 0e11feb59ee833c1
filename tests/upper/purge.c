/* Unit tests of purge: heaps, superslabs and cached mappings are numbers. */
#include "purge.h"

#include "boxes.h"
#include "large.h"

#include "unit/unit.h"

#include <limits.h>
#include <string.h>

struct heap heap_none;
THREAD_LOCAL struct heap_current heap_current = {&heap_none, HEAP_NO_TAG};
THREAD_LOCAL struct heap *heap_own;

static struct {
    size_t dirty, piece, unmappable, cached; /* bytes; piece: what one advice gives back */
    size_t rested, waiting, waiting_rested, tidied, tidied_always; /* bytes; of the last two the first once */
    unsigned advices, steps, drained, idle_drained, emptied, idle_emptied, visits, visits_before,
        more; /* more: visits after which there is still more */
    enum heap_tidied result;
    bool tidy;             /* the heap needs no visit */
    unsigned given_up;     /* pieces of what is cached */
    unsigned heap, others; /* the one that heap_after was asked for last, from 0 to others */
    size_t below_peak;
    bool reachable, allowed, out_of_reach; /* threads */
    enum heap_reached reached;
    unsigned reaches, packs, hands, hands_now; /* visits; those that empty a hand whether it rests or not */
    unsigned collects;
    bool hand_rests_not;
    bool may_pack;
    size_t staying; /* of what is dirty */
    size_t unused;  /* bytes; shed when the heap does not grow */
    bool grows;
} fake;

bool heap_can_reach(void) {
    return fake.reachable;
}

bool reach_allowed(void) {
    return fake.allowed;
}

bool heap_is_out_of_reach(const struct heap *heap) {
    assert_non_null(heap);
    return fake.out_of_reach;
}

struct heap *heap_await_visitor(void) {
    return heap_current.heap = heap_own;
}

size_t superslab_below_peak_bytes(void) {
    return fake.below_peak;
}

size_t large_waiting_bytes(void) {
    return fake.waiting;
}

size_t large_purge_rested(void) {
    size_t bytes = fake.waiting_rested;
    fake.waiting -= bytes;
    fake.waiting_rested = fake.waiting;
    return bytes;
}

struct limit limit;
static struct {
    size_t keep;        /* what may be kept warm near a limit */
    size_t wants_drain; /* bytes */
    bool lifted;
    unsigned drains;
} near;

/* A heap is reached before its slabs are tidied; when all is to go home, all of them are before those of any. */
enum heap_reached heap_reach(struct heap *heap, bool now) {
    (void)now;
    assert_non_null(heap);
    assert_int_equal(fake.visits, fake.visits_before + (near.lifted ? 0 : fake.heap));
    fake.reaches++;
    return fake.reached;
}

bool limit_near_now(void) {
    return true;
}

size_t limit_keep_now(size_t configured, size_t warm) {
    (void)warm;
    return configured < near.keep ? configured : near.keep;
}

size_t limit_wants_drain(void) {
    return near.wants_drain;
}

void limit_note_drained(void) {
    near.drains++;
    near.wants_drain = 0;
}

void limit_lift_budget(bool lifted) {
    assert_int_equal(near.lifted, !lifted);
    near.lifted = lifted;
}

static struct heap only;
static unsigned inside;

struct heap *heap_after(const struct heap *heap) {
    fake.heap = heap ? fake.heap + 1 : 0;
    return fake.heap <= fake.others ? &only : NULL;
}

bool heap_is_tidy(const struct heap *heap) {
    assert_non_null(heap);
    return fake.tidy;
}

bool large_hand_visit(struct large_hand *hand, bool now) {
    assert_ptr_equal(hand, &only.hand);
    fake.hands++;
    fake.hands_now += now;
    return fake.hand_rests_not && !now;
}

/* Of the first heap there is more, so many times. */
bool heap_collect_for(struct heap *heap) {
    assert_ptr_equal(heap, &only);
    assert_int_equal(inside++, 0); /* P3 */
    fake.collects++;
    inside--;
    return fake.heap == 0 && fake.more-- > 0;
}

enum heap_tidied heap_tidy(struct heap *heap, bool now, size_t *purged) {
    (void)now;
    assert_int_equal(inside++, 0); /* P3 */
    assert_non_null(heap);
    fake.visits++;
    inside--;
    *purged += fake.tidied + fake.tidied_always;
    fake.tidied = 0;
    if (fake.more == 0)
        return fake.result;
    fake.more--;
    return HEAP_MORE;
}

size_t superslab_dirty_bytes(void) {
    return fake.dirty;
}

size_t superslab_staying_bytes(void) {
    return fake.staying;
}

size_t superslab_purge(size_t keep, unsigned calls) {
    size_t before = fake.dirty;
    for (fake.steps++; calls > 0 && fake.dirty > keep; calls--, fake.advices++)
        fake.dirty -= fake.dirty < fake.piece ? fake.dirty : fake.piece;
    return before - fake.dirty;
}

size_t superslab_purge_rested(unsigned calls) {
    assert_int_equal(fake.visits, fake.visits_before); /* the budget is not spent on single pages yet */
    size_t keep = fake.dirty > fake.rested ? fake.dirty - fake.rested : 0, before = fake.dirty;
    if (fake.rested > 0)
        superslab_purge(keep, calls);
    return before - fake.dirty;
}

void superslab_end_look(void) {
    fake.visits_before = fake.visits;
    fake.rested = fake.dirty - fake.staying;
}

bool superslab_pack(unsigned most) {
    fake.packs += most;
    return fake.may_pack;
}

size_t superslab_shed(bool now, bool *later) {
    size_t bytes = now || !fake.grows ? fake.unused : 0;
    fake.unused -= bytes;
    *later |= fake.unused > 0;
    return bytes;
}

size_t superslab_unmap_free(void) {
    size_t bytes = fake.unmappable;
    fake.unmappable = 0;
    return bytes;
}

size_t large_purge(size_t keep, unsigned most) {
    size_t bytes = 0;
    for (; most > 0 && fake.cached > keep; most--, fake.given_up++) {
        size_t piece = fake.cached - keep < fake.piece ? fake.cached - keep : fake.piece;
        fake.cached -= piece;
        bytes += piece;
    }
    return bytes;
}

void heap_drain(struct heap *heap) {
    assert_ptr_not_equal(heap, &heap_none);
    fake.drained++;
    fake.dirty += fake.piece;
}

void heap_drain_idle(void) {
    fake.idle_drained++;
    fake.dirty += fake.piece;
}

void heap_empty(struct heap *heap) {
    assert_ptr_not_equal(heap, &heap_none);
    fake.emptied++;
    fake.dirty += fake.piece;
}

void heap_empty_idle(void) {
    fake.idle_emptied++;
    fake.dirty += fake.piece;
}

/* As janitor does it. */
static void after_free(void) {
    if (superslab_dirty_bytes() > purge_keep_free)
        purge_step();
}

static int setup(void **state) {
    (void)state;
    memset(&fake, 0, sizeof fake);
    memset(&near, 0, sizeof near);
    atomic_store(&limit.watching, false);
    fake.piece = MIB;
    heap_current.heap = &heap_none;
    heap_own = NULL;
    purge_keep_free = 64 * MIB;
    return 0;
}

static void purge_P1_one_call_gives_few_pieces_of_advice(void **state) {
    (void)state;
    fake.dirty = GIB;
    after_free();
    assert_int_equal(fake.advices, PURGE_ADVICE_AT_ONCE);
}

static void purge_P1_near_a_limit_too(void **state) {
    (void)state;
    fake.dirty = fake.waiting = fake.cached = GIB;
    atomic_store(&limit.watching, true);
    purge_after_take();
    assert_int_equal(fake.given_up, LARGE_GIVE_UP);
    assert_int_equal(fake.advices, 2 * PURGE_ADVICE_AT_ONCE);
}

static void purge_near_a_limit_keeps_what_fits(void **state) {
    (void)state;
    fake.dirty = 6 * MIB;
    fake.waiting = fake.cached = 10 * MIB;
    purge_after_take();
    assert_int_equal(fake.steps, 0);
    atomic_store(&limit.watching, true);
    near.keep = 2 * MIB;
    purge_after_take();
    assert_int_equal(fake.dirty, 2 * MIB);
    assert_int_equal(fake.cached, 2 * MIB);
    assert_int_equal(near.drains + fake.idle_drained, 0);
}

static void purge_near_a_limit_drains_heaps_after_each_step(void **state) {
    (void)state;
    struct heap mine;
    heap_current.heap = heap_own = &mine;
    atomic_store(&limit.watching, true);
    near.wants_drain = MIB;
    fake.others = 2;
    purge_after_take();
    purge_after_take();
    assert_int_equal(near.drains, 1);
    assert_int_equal(fake.visits, 3);
    assert_int_equal(fake.emptied, 1);
    assert_int_equal(fake.idle_emptied, 1);
    assert_int_equal(fake.dirty, 0);
    near.wants_drain = MIB;
    fake.tidy = true;
    purge_after_take();
    assert_int_equal(near.drains, 2);
    assert_int_equal(fake.visits, 3);
    assert_int_equal(fake.emptied, 2);
}

/* What is wanted, and no more of it than some visits bring, whichever heaps they are of. */
static void purge_P1_near_a_limit_heaps_are_drained_in_parts(void **state) {
    (void)state;
    atomic_store(&limit.watching, true);
    near.wants_drain = 2 * MIB;
    fake.more = 100000;
    fake.tidied = MIB;
    purge_after_take();
    assert_int_equal(fake.visits, 64);
    fake.tidied_always = MIB;
    purge_after_take();
    assert_int_equal(fake.visits, 66);
    assert_int_equal(near.drains, 0);
    fake.tidied_always = 0;
    fake.more = 0;
    fake.others = 99; /* it is the first that is gone on with */
    purge_after_take();
    assert_int_equal(fake.visits, 66 + 64);
    assert_int_equal(near.drains, 0);
    fake.reachable = fake.allowed = true;
    fake.reached = HEAP_REACHED;
    fake.visits_before = 66; /* one more visit for each that is reached */
    purge_after_take();
    assert_int_equal(fake.reaches, 32);
    assert_int_equal(fake.idle_emptied, 1);
    fake.reachable = false;
    purge_after_take();
    assert_int_equal(near.drains, 1);
    assert_int_equal(fake.visits, 66 + 100);
}

static void purge_does_nothing_below_the_limit(void **state) {
    (void)state;
    fake.dirty = 64 * MIB;
    after_free();
    assert_int_equal(fake.steps, 0);
    fake.dirty++;
    after_free();
    assert_int_equal(fake.steps, 1);
}

/* To look at a thread in vain costs as much as to reach it, and there may be thousands: it counts as a visit. Who was found out
 * of reach is asked again when everything is to go home, and not in each round near a limit. */
static void purge_P1_near_a_limit_threads_are_looked_at_in_parts(void **state) {
    (void)state;
    atomic_store(&limit.watching, true);
    fake.result = HEAP_UNSETTLED;
    fake.reachable = fake.allowed = true;
    fake.reached = HEAP_HOLDS;
    fake.others = 99;
    near.wants_drain = MIB;
    purge_after_take();
    assert_int_equal(fake.reaches, 32);
    for (unsigned call = 1; call < 4; call++)
        purge_after_take();
    assert_int_equal(fake.reaches, 100);
    assert_int_equal(near.drains, 1);
    fake.out_of_reach = true;
    near.wants_drain = MIB;
    purge_after_take();
    purge_after_take();
    assert_int_equal(fake.reaches, 100);
    assert_int_equal(near.drains, 2);
    fake.visits_before = fake.visits;
    purge_all();
    assert_int_equal(fake.reaches, 200);
}

static void purge_P2_advice_comes_a_quarter_of_the_limit_apart(void **state) {
    (void)state;
    fake.piece = 4 * MIB;
    fake.dirty = 64 * MIB + 1;
    after_free();
    assert_true(fake.dirty <= 48 * MIB);
    unsigned advices = fake.advices;
    for (size_t freed = 0; freed < 16 * MIB; freed += 64 * KIB) {
        fake.dirty += 64 * KIB;
        after_free();
    }
    assert_int_equal(fake.advices, advices);
}

static void purge_stays_within_the_peak(void **state) {
    (void)state;
    purge_within_peak = true;
    fake.dirty = fake.below_peak = 200 * MIB;
    after_free();
    assert_int_equal(fake.dirty, 200 * MIB);
    fake.below_peak = 190 * MIB;
    for (int i = 0; i < 5; i++)
        after_free();
    assert_int_equal(fake.dirty, 190 * MIB);
    fake.below_peak = 10 * MIB;
    for (int i = 0; i < 100; i++)
        after_free();
    assert_in_range(fake.dirty, 10 * MIB, 64 * MIB);
    purge_within_peak = false;
}

static void purge_with_a_limit_of_nothing(void **state) {
    (void)state;
    purge_keep_free = 0;
    fake.dirty = 3 * MIB;
    after_free();
    assert_int_equal(fake.dirty, 0);
    after_free();
    assert_int_equal(fake.steps, 1);
}

static void purge_all_gives_everything_back(void **state) {
    (void)state;
    static struct heap heap;
    fake.dirty = 100 * MIB;
    fake.cached = 5 * MIB;
    fake.unmappable = MIB;
    assert_int_equal(purge_all(), 106 * MIB);
    assert_int_equal(fake.drained, 0);
    heap_own = &heap; /* while a visitor is at it: waits */
    assert_int_equal(purge_all(), 2 * MIB);
    assert_int_equal(fake.drained, 1);
    assert_int_equal(fake.idle_drained, 2);
    assert_int_equal(fake.unmappable, MIB);
    fake.cached = 5 * MIB;
    assert_int_equal(purge_for_space(), 8 * MIB);
    assert_int_equal(fake.dirty + fake.cached + fake.unmappable, 0);
}

/* The janitor goes on looking while there is something to pack; a slow path of the program's packs one area in a look. */
static void purge_packs_in_its_own_time(void **state) {
    (void)state;
    enum { PACKED = 4 };
    fake.may_pack = true;
    assert_true(purge_look().later);
    assert_int_equal(fake.packs, PACKED);
    purge_step();
    assert_int_equal(fake.packs, PACKED);
    purge_look_here();
    assert_int_equal(fake.packs, PACKED + 1);
    fake.may_pack = false;
    assert_false(purge_look().later);
}

/* Nor does it shed what is unused while the heap grows, unless all is to go home. */
static void purge_sheds_what_is_unused(void **state) {
    (void)state;
    for (unsigned now = 0; now < 2; now++) {
        fake.unused = MIB;
        fake.grows = true;
        struct purge_looked looked = purge_look();
        assert_true(looked.later && looked.bytes == 0);
        purge_look_here();
        purge_step();
        assert_int_equal(fake.unused, MIB);
        fake.grows = now;
        looked = now ? (struct purge_looked){.bytes = purge_all()} : purge_look();
        assert_false(looked.later);
        assert_in_range(looked.bytes, MIB, MIB + 2 * fake.piece);
        assert_int_equal(fake.unused, 0);
    }
}

/* What a look leaves for good is nothing that the next one would be for. */
static void purge_does_not_wait_for_what_stays(void **state) {
    (void)state;
    fake.dirty = fake.staying = 3 * MIB;
    assert_false(purge_look().later);
    fake.dirty += MIB;
    assert_true(purge_look().later);
}

static void purge_P3_looks_give_home_what_rested(void **state) {
    (void)state;
    fake.dirty = 10 * MIB;
    fake.rested = 4 * MIB;
    fake.waiting = 8 * MIB;
    fake.waiting_rested = 3 * MIB;
    fake.tidied = MIB;
    fake.more = 3;
    struct purge_looked looked = purge_look();
    assert_int_equal(looked.bytes, 8 * MIB);
    assert_true(looked.later);
    assert_int_equal(fake.visits, 4); /* until there was no more */
    assert_int_equal(fake.dirty, 6 * MIB);
    looked = purge_look();
    looked = purge_look();
    assert_int_equal(fake.dirty + fake.waiting, 0);
    assert_false(looked.later);
    fake.result = HEAP_UNSETTLED;
    assert_true(purge_look().later);
    unsigned visits = fake.visits;
    fake.tidy = true;
    assert_false(purge_look().later);
    assert_int_equal(fake.visits, visits);
    purge_all(); /* visits it all the same */
    assert_int_equal(fake.visits, visits + 1);
}

/* What threads have at hand of large blocks goes back when it rests; at once when all is to go home, or near a limit. */
static void purge_empties_hands(void **state) {
    (void)state;
    fake.tidy = true;
    fake.others = 2;
    fake.hand_rests_not = true;
    assert_true(purge_look().later);
    assert_int_equal(fake.hands, 3);
    fake.hand_rests_not = false;
    assert_false(purge_look().later);
    assert_int_equal(fake.hands_now, 0);
    purge_all();
    assert_int_equal(fake.hands, 9);
    assert_int_equal(fake.hands_now, 3);
    heap_own = &only;
    fake.visits_before = fake.visits;
    purge_look_here(); /* the caller's own */
    assert_int_equal(fake.hands, 10);
    heap_own = NULL;
    atomic_store(&limit.watching, true);
    near.wants_drain = MIB;
    purge_after_take();
    assert_int_equal(fake.hands, 10); /* they are not in use */
    only.hand.may = true;
    fake.others = 99;
    near.wants_drain = MIB;
    purge_after_take();
    assert_int_equal(fake.hands_now, 3 + 64); /* in parts */
    purge_after_take();
    assert_int_equal(fake.hands_now, 3 + 100);
    assert_int_equal(near.drains, 2);
    only.hand.may = false;
}

static struct purge_looked look_once(enum heap_reached reached) {
    fake.visits = fake.visits_before = fake.reaches = 0;
    fake.reached = reached;
    return purge_look();
}

static void purge_reaches_sleeping_threads(void **state) {
    (void)state;
    fake.result = HEAP_TIDY;
    fake.tidy = true;
    look_once(HEAP_REACHED);
    assert_int_equal(fake.reaches, 0); /* there are none */
    fake.reachable = true;
    look_once(HEAP_REACHED);
    assert_int_equal(fake.reaches, 0); /* a filter of system calls */
    fake.allowed = true;
    struct purge_looked looked = look_once(HEAP_HOLDS_NOTHING);
    assert_int_equal(fake.reaches, 1);
    assert_false(looked.later || looked.reached);
    looked = look_once(HEAP_HOLDS);
    assert_true(looked.later);
    assert_int_equal(looked.reached, 0);
    looked = look_once(HEAP_REACHED);
    assert_true(looked.later);
    assert_int_equal(looked.reached, 1);
    fake.visits = fake.visits_before = fake.reaches = 0;
    purge_all();
    assert_int_equal(fake.reaches, 1);
}

/* Of many threads that sleep a look reaches some, and who gives everything home all of them. */
static void purge_reaches_some_threads_in_a_look(void **state) {
    (void)state;
    enum { AT_ONCE = 64, THREADS = AT_ONCE + 36 };
    fake.result = HEAP_TIDY;
    fake.reachable = fake.allowed = true;
    fake.others = THREADS - 1;
    struct purge_looked looked = look_once(HEAP_REACHED);
    assert_int_equal(looked.reached, AT_ONCE);
    assert_true(looked.later);
    fake.reaches = 0;
    fake.visits_before = fake.visits;
    purge_all();
    assert_int_equal(fake.reaches, THREADS);
}

/* A heap in which there is always more holds up nobody else's visit for ever. */
static void purge_visits_a_heap_some_times_in_a_look(void **state) {
    (void)state;
    fake.more = 100000;
    struct purge_looked looked = purge_look();
    assert_in_range(fake.visits, 1000, 10000);
    assert_true(looked.later);
}

/* All heaps, each until there is no more, but not for ever; and nothing goes home. */
static void purge_collects_of_all_heaps(void **state) {
    (void)state;
    fake.dirty = fake.rested = MIB;
    fake.more = 5;
    fake.others = 3;
    purge_collect();
    assert_int_equal(fake.collects, 5 + 1 + 3);
    fake.collects = fake.others = 0;
    fake.more = 100000;
    purge_collect();
    assert_in_range(fake.collects, 1000, 10000);
    assert_int_equal(fake.visits + fake.reaches, 0);
    assert_int_equal(fake.dirty, MIB);
}

static void purge_P1_a_look_of_a_slow_path_is_bounded(void **state) {
    (void)state;
    fake.dirty = fake.rested = 100 * PURGE_ADVICE_AT_ONCE * MIB;
    fake.more = 5;
    purge_look_here();
    assert_int_equal(fake.visits, 0); /* it has no heap */
    assert_int_equal(fake.advices, PURGE_ADVICE_AT_ONCE);
    heap_current.heap = heap_own = &only;
    purge_look_here();
    assert_int_equal(fake.visits, 1);
    assert_int_equal(fake.advices, 2 * PURGE_ADVICE_AT_ONCE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(purge_P1_one_call_gives_few_pieces_of_advice, setup),
        cmocka_unit_test_setup(purge_does_nothing_below_the_limit, setup),
        cmocka_unit_test_setup(purge_P1_near_a_limit_too, setup),
        cmocka_unit_test_setup(purge_near_a_limit_keeps_what_fits, setup),
        cmocka_unit_test_setup(purge_near_a_limit_drains_heaps_after_each_step, setup),
        cmocka_unit_test_setup(purge_P1_near_a_limit_heaps_are_drained_in_parts, setup),
        cmocka_unit_test_setup(purge_P1_near_a_limit_threads_are_looked_at_in_parts, setup),
        cmocka_unit_test_setup(purge_P2_advice_comes_a_quarter_of_the_limit_apart, setup),
        cmocka_unit_test_setup(purge_stays_within_the_peak, setup),
        cmocka_unit_test_setup(purge_with_a_limit_of_nothing, setup),
        cmocka_unit_test_setup(purge_all_gives_everything_back, setup),
        cmocka_unit_test_setup(purge_packs_in_its_own_time, setup),
        cmocka_unit_test_setup(purge_sheds_what_is_unused, setup),
        cmocka_unit_test_setup(purge_does_not_wait_for_what_stays, setup),
        cmocka_unit_test_setup(purge_P3_looks_give_home_what_rested, setup),
        cmocka_unit_test_setup(purge_empties_hands, setup),
        cmocka_unit_test_setup(purge_reaches_sleeping_threads, setup),
        cmocka_unit_test_setup(purge_reaches_some_threads_in_a_look, setup),
        cmocka_unit_test_setup(purge_visits_a_heap_some_times_in_a_look, setup),
        cmocka_unit_test_setup(purge_collects_of_all_heaps, setup),
        cmocka_unit_test_setup(purge_P1_a_look_of_a_slow_path_is_bounded, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
