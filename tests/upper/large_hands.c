/* Unit tests of what each thread has at hand of large blocks, on the real rooms below: the calling thread stands in for several. */
#include "large_parts.h"

#include "metadata.h"
#include "os.h"

#include "kernel.h"
#include "unit/unit.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

enum { THREADS = 12, RUN = 100 * KIB };

static struct large_hand hands[THREADS];

/* The room dense, which is told of all runs that live. */
static size_t runs;

void dense_count(enum dense_kind kind, size_t units) {
    assert_in_range(kind, DENSE_RUNS, DENSE_LARGEST);
    runs += units;
}

void dense_watch(enum dense_kind kind, void *start, size_t units, bool probe) {
    (void)kind, (void)start, (void)units, (void)probe;
}

void dense_tell(enum dense_kind kind, size_t resident, size_t bytes) {
    (void)kind, (void)resident, (void)bytes;
}

bool dense_is_sparse(enum dense_kind kind) {
    (void)kind;
    return true;
}

size_t dense_large_units(void) {
    return 0;
}

size_t dense_units(bool hoped) {
    (void)hoped;
    return 0;
}

enum dense_known dense_known(enum dense_kind kind) {
    (void)kind;
    return DENSE_UNKNOWN;
}

/* What is at hand; all zero where nothing ever was. */
static const struct spare_recent *recent_of(const struct large_hand *hand) {
    static const struct spare_recent none;
    return hand->recent ? hand->recent : &none;
}

static void be(unsigned thread) {
    favour_seat = &hands[thread].seat;
}

static void *new_block(size_t size) {
    bool zeroed;
    unsigned char *block = large_new(size, 16, &zeroed);
    assert_non_null(block);
    const struct large *large = pagemap_record(block);
    assert_true(large->bytes >= size && large->bytes <= large->extent);
    assert_int_equal(pagemap_tag(block), large->home ? PAGEMAP_RUN : PAGEMAP_MAPPING);
    block[0] = 1;
    return block;
}

/* As alloc does it: the hit, else all of it. */
static void delete_block(void *block) {
    struct large *large = pagemap_record(block);
    if (!large_hand_mine() || !large_rest(large, large_hand_mine()))
        large_delete(large);
    assert_true(pagemap_tag(block) == PAGEMAP_NONE ||
                large_was_freed(large, block)); /* who frees it again is told */
}

/* Threads take turns until that is noticed. */
static void take_turns(unsigned threads) {
    for (unsigned turn = 0; turn < 3 * FAVOUR_SHARED; turn++) {
        be(turn % threads);
        delete_block(new_block(RUN));
    }
    be(0);
    larges.lock.needed = UINT32_MAX; /* nobody becomes the favourite, who needs no hand */
    assert_true(hands[0].may || threads == THREADS);
}

/* As if it had been considered. */
static void hold_hand(unsigned thread) {
    if (hands[thread].may)
        return;
    if (!hands[thread].recent)
        hands[thread].recent = metadata_new(sizeof(struct spare_recent));
    hands[thread].may = true;
    hands[thread].most = LARGE_HAND_FIRST;
    larges.hands++;
    larges.outside += LARGE_HAND_LEAST;
}

static size_t waiting_blocks(void) {
    return larges.recent.count + larges.waiting;
}

/* A new block that need not be measured for a while; as if it had been, with so much in memory. */
static void *measured_block(size_t size, size_t resident) {
    void *block = new_block(size);
    struct large *large = pagemap_record(block);
    larges.held -= large_weight(large);
    large->due = UINT16_MAX;
    large->every = LARGE_MEASURE_MOST;
    large->resident = resident;
    larges.held += large_weight(large);
    return block;
}

static void check_hands(void) {
    size_t used = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        const struct spare_recent *recent = recent_of(&hands[i]);
        assert_true(hands[i].may || recent->count == 0);
        assert_true(recent->resident <= LARGE_HAND_MOST);
        assert_true(recent->bytes <= 4 * LARGE_HAND_MOST);
        assert_true(hands[i].most <= LARGE_HAND_MOST);
        used += hands[i].may;
    }
    assert_int_equal(used, larges.hands);
    assert_int_equal(larges.outside, larges.slack + used * LARGE_HAND_LEAST);
    assert_int_equal(runs * UNIT_SIZE, superslab_mapped_bytes() - superslab_free_bytes());
}

static int setup(void **state) {
    kernel_reset(state);
    for (unsigned i = 0; i < THREADS; i++)
        large_hand_empty(&hands[i]);
    favour_end(&larges.lock);
    favour_release(&larges.lock);
    large_purge(0, ALWAYS);
    limit_configure(SIZE_MAX - 1, 0, 0);
    memset(hands, 0, sizeof hands);
    larges.lock.changes = larges.lock.turns = 0;
    larges.lock.needed = FAVOUR_FROM;
    larges.live_peak = 0;
    large_configure(64 * MIB);
    be(0);
    return 0;
}

static void large_P4_only_where_threads_take_turns(void **state) {
    (void)state;
    for (unsigned i = 0; i < 1000; i++)
        delete_block(new_block(RUN));
    assert_false(hands[0].may);
    favour_seat = NULL; /* a visitor, as the janitor is */
    delete_block(new_block(RUN));
    take_turns(2);
    assert_true(hands[1].may);
    assert_int_equal(larges.hands, 2);
    check_hands();
}

static void large_P4_what_is_at_hand_needs_no_lock(void **state) {
    (void)state;
    take_turns(2);
    void *block = measured_block(RUN, 8 * KIB);
    size_t live = larges.live, held = larges.held, due = ((struct large *)pagemap_record(block))->due;
    uint32_t turns = larges.lock.turns;
    for (unsigned i = 1; i <= 5; i++) {
        unsigned count = recent_of(&hands[0])->count;
        delete_block(block);
        assert_int_equal(recent_of(&hands[0])->count, count + 1);
        assert_ptr_equal(new_block(RUN - 5 * i), block);
        assert_int_equal(((struct large *)pagemap_record(block))->due, due - i);
    }
    assert_int_equal(larges.live, live);
    assert_int_equal(larges.held, held);
    assert_int_equal(larges.lock.turns, turns);
    be(1); /* not another's */
    void *other = new_block(RUN);
    assert_ptr_not_equal(other, block);
    delete_block(other);
    delete_block(block);
    check_hands();
}

static void large_P4_some_blocks_do_not_come_to_hand(void **state) {
    (void)state;
    take_turns(2);
    large_hand_visit(&hands[0], true);
    hold_hand(0);
    void *mapping = measured_block(2 * MIB, 8 * KIB), *written = measured_block(640 * KIB, 640 * KIB);
    delete_block(mapping);
    delete_block(written);
    assert_int_equal(recent_of(&hands[0])->count, 0);
    bool zeroed;
    void *run = measured_block(RUN, 8 * KIB);
    delete_block(run);
    assert_int_equal(recent_of(&hands[0])->count, 1);
    void *aligned = large_new(RUN, 4 * MIB, &zeroed); /* nor do they serve what they may not be aligned for */
    assert_int_equal((uintptr_t)aligned % (4 * MIB), 0);
    assert_int_equal(recent_of(&hands[0])->count, 1);
    delete_block(aligned);
    void *other = new_block(3 * RUN); /* nor what is of another size */
    assert_int_equal(recent_of(&hands[0])->count, 1);
    delete_block(other);
    check_hands();
}

static void large_P4_what_has_to_be_measured_comes_to_hand_then(void **state) {
    (void)state;
    enum { FRESH = 7 * UNIT_SIZE }; /* no other test's */
    take_turns(2);
    large_hand_visit(&hands[0], true);
    hold_hand(0);
    unsigned char *block = new_block(FRESH);
    struct large *large = pagemap_record(block);
    memset(block, 1, 3 * os_page_size());
    size_t live = larges.live, held = larges.held;
    delete_block(block);
    assert_int_equal(recent_of(&hands[0])->count, 1);
    assert_int_equal(large->resident, 3 * os_page_size());
    assert_int_equal(large->due + 1, large->every);
    assert_int_equal(larges.live, live); /* what is at hand goes on counting, with what is known now */
    assert_int_equal(larges.held, held - FRESH + large->resident);
    assert_ptr_equal(new_block(FRESH), block);
    large->due = 1;
    assert_false(large_is_due_at_hand(large)); /* not at this free */
    large->due = 0;
    assert_true(large_is_due_at_hand(large));
    uint32_t turns = larges.lock.turns;
    delete_block(block); /* as much as before: nobody is waited for */
    assert_int_equal(larges.lock.turns, turns);
    assert_int_equal(recent_of(&hands[0])->count, 1);
    assert_int_equal(large->every, LARGE_MEASURE_FIRST * LARGE_MEASURE_TIMES);
    assert_int_equal(large->due + 1, large->every);
    assert_ptr_equal(new_block(FRESH), block);
    large->due = 0;
    memset(block, 1, FRESH);
    delete_block(block); /* again, with more in memory */
    assert_int_equal(large->resident, FRESH);
    assert_int_equal(larges.held, held - FRESH + large->resident);
    check_hands();
    void *written = new_block(3 * MIB / 4); /* that is too much for a hand */
    memset(written, 1, 3 * MIB / 4);
    delete_block(written);
    assert_int_equal(recent_of(&hands[0])->count, 1);
    written = new_block(3 * MIB / 4); /* and what is known to be is not looked at for one */
    large = pagemap_record(written);
    large->due = 0;
    assert_true(large->resident > LARGE_HAND_FIRST / 4 && !large_is_due_at_hand(large));
    delete_block(written);
    check_hands();
}

/* Which is full gives a part away, as nobody may want what is in it. */
static void large_P4_a_hand_is_bounded(void **state) {
    (void)state;
    enum { COUNT = 4 * SPARE_RECENT };
    void *blocks[COUNT];
    take_turns(2);
    for (unsigned i = 0; i < COUNT; i++)
        blocks[i] = measured_block(i % 2 ? RUN : 2 * RUN, 8 * KIB);
    unsigned most = 0, gave = 0;
    size_t widest = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        unsigned before = recent_of(&hands[0])->count;
        delete_block(blocks[i]);
        gave += recent_of(&hands[0])->count < before;
        most = recent_of(&hands[0])->count > most ? recent_of(&hands[0])->count : most;
        widest = recent_of(&hands[0])->bytes > widest ? recent_of(&hands[0])->bytes : widest;
        check_hands();
    }
    assert_in_range(widest, 4 * LARGE_HAND_FIRST, 4 * LARGE_HAND_MOST); /* it has grown, in addresses, too */
    assert_in_range(most, 8 * MIB / (4 * UNIT_SIZE), SPARE_RECENT);
    assert_in_range(gave, 2, COUNT / 8); /* 8 at once */
    for (unsigned i = 0; i < 40; i++)
        blocks[i] = measured_block(RUN, RUN);
    large_hand_visit(&hands[0], true);
    hold_hand(0);
    for (unsigned i = 0; i < 40; i++) {
        delete_block(blocks[i]);
        check_hands();
    }
    assert_in_range(recent_of(&hands[0])->count, 1, LARGE_HAND_MOST / RUN);
}

enum { MANY = 12 * SPARE_RECENT };

static void take_many(void *blocks[MANY], unsigned thread) {
    be(thread);
    for (unsigned i = 0; i < MANY; i++)
        blocks[i] = measured_block(RUN, RUN);
    be(0);
}

/* A thread that takes and frees as it pleases misses what its hand gave away. */
static void large_P4_a_hand_grows_where_its_thread_frees_what_it_took(void **state) {
    (void)state;
    static void *own[MANY], *others[MANY];
    take_turns(2);
    assert_int_equal(hands[0].most, LARGE_HAND_FIRST);
    take_many(own, 0);
    take_many(others, 1);
    for (unsigned i = 0; i < MANY / 2; i++) {
        delete_block(own[i]);
        check_hands();
    }
    assert_int_equal(hands[0].most, LARGE_HAND_MOST);
    assert_in_range(recent_of(&hands[0])->resident, LARGE_HAND_MOST / 2, LARGE_HAND_MOST);
    delete_block(new_block(11 * UNIT_SIZE)); /* what it may hold stays when it is considered again */
    assert_int_equal(hands[0].most, LARGE_HAND_MOST);
    for (unsigned i = 0; i < MANY / 2; i++) {
        delete_block(others[i]);
        check_hands();
    }
    assert_int_equal(hands[0].most, LARGE_HAND_FIRST);
    assert_in_range(recent_of(&hands[0])->resident, 1, LARGE_HAND_FIRST);
    for (unsigned i = MANY / 2; i < MANY; i++) { /* half of them are the own */
        delete_block(own[i]);
        delete_block(others[i]);
        assert_true(hands[0].most <= LARGE_HAND_FIRST + MIB / 4);
    }
    assert_in_range(recent_of(&hands[0])->resident, 1, LARGE_HAND_FIRST);
    check_hands();
}

/* Its heap may be another's next. */
static void large_P4_who_goes_leaves_a_hand_as_it_was(void **state) {
    (void)state;
    static void *own[MANY];
    take_turns(2);
    take_many(own, 0);
    for (unsigned i = 0; i < MANY; i++)
        delete_block(own[i]);
    assert_int_equal(hands[0].most, LARGE_HAND_MOST);
    large_hand_empty(&hands[0]);
    take_turns(2);
    assert_int_equal(hands[0].most, LARGE_HAND_FIRST);
    assert_int_equal(hands[0].own, 0);
}

/* From whichever place it came, and whoever had it before. */
static void large_P4_a_block_knows_whose_hand_took_it(void **state) {
    (void)state;
    take_turns(2);
    be(1);
    void *block = measured_block(RUN, 8 * KIB);
    const struct large *large = pagemap_record(block);
    assert_ptr_equal(large->taken_by, &hands[1]);
    be(0);
    delete_block(block);
    assert_ptr_equal(new_block(RUN), block); /* from the hand */
    assert_ptr_equal(large->taken_by, &hands[0]);
    be(1);
    delete_block(block);
    large_hand_visit(&hands[1], true);
    hold_hand(1);
    be(0);
    large_hand_visit(&hands[0], true);
    hold_hand(0);
    large = spare_recent_find(&larges.recent, 2 * UNIT_SIZE, 2 * UNIT_SIZE);
    assert_non_null(large);
    block = new_block(RUN); /* from where all find it */
    assert_ptr_equal(pagemap_record(block), large);
    assert_ptr_equal(large->taken_by, &hands[0]);
    delete_block(block);
    check_hands();
}

static void large_P4_hands_share_what_all_may_hold(void **state) {
    (void)state;
    large_configure(16 * MIB);
    take_turns(3);
    assert_int_equal(hands[0].most, 16 * MIB / 4 / 3);
    large_configure(8 * MIB); /* one that is there holds no less */
    be(1);
    delete_block(new_block(11 * UNIT_SIZE));
    assert_int_equal(hands[1].most, LARGE_HAND_LEAST);
    be(0);
}

/* Two of 2 MiB may hold what four of 1 MiB may. Who has more than that gives it away as it goes on. */
static void large_P4_the_more_hands_the_less_in_each(void **state) {
    (void)state;
    enum { COUNT = 30 };
    void *blocks[COUNT];
    large_configure(16 * MIB);
    take_turns(2);
    assert_int_equal(hands[0].most, LARGE_HAND_FIRST);
    for (unsigned i = 0; i < COUNT; i++)
        blocks[i] = measured_block(RUN, RUN);
    for (unsigned i = 0; i < COUNT; i++)
        delete_block(blocks[i]);
    assert_in_range(recent_of(&hands[0])->resident, LARGE_HAND_FIRST / 2, LARGE_HAND_FIRST);
    take_turns(4);
    assert_int_equal(larges.hands, 4);
    for (unsigned i = 1; i < 4; i++) {
        be(i);
        delete_block(new_block(7 * UNIT_SIZE)); /* it learns that at the lock */
        assert_int_equal(hands[i].most, LARGE_HAND_LEAST);
    }
    for (unsigned i = 0; i < COUNT; i++) /* by another thread */
        blocks[i] = measured_block(RUN, RUN);
    be(0);
    assert_int_equal(hands[0].most, LARGE_HAND_FIRST);
    for (unsigned i = 0; i < COUNT; i++)
        delete_block(blocks[i]);
    assert_in_range(recent_of(&hands[0])->resident, 1, LARGE_HAND_LEAST);
    assert_int_equal(hands[0].most, LARGE_HAND_LEAST); /* ... or when it is full */
    void *large = measured_block(5 * UNIT_SIZE, 300 * KIB), *other = measured_block(5 * UNIT_SIZE, 300 * KIB);
    size_t resident = recent_of(&hands[0])->resident;
    delete_block(large); /* more than a quarter of it */
    assert_int_equal(recent_of(&hands[0])->resident, resident);
    for (unsigned i = 1; i < 4; i++)
        large_hand_visit(&hands[i], true);
    delete_block(new_block(11 * UNIT_SIZE));
    assert_int_equal(hands[0].most, LARGE_HAND_FIRST);
    for (unsigned i = 0; recent_of(&hands[0])->resident > LARGE_HAND_FIRST / 2; i++)
        blocks[i] = new_block(RUN);
    resident = recent_of(&hands[0])->resident;
    delete_block(other);
    assert_int_equal(recent_of(&hands[0])->resident, resident + 300 * KIB);
}

static void large_P4_hands_are_few(void **state) {
    (void)state;
    take_turns(THREADS);
    assert_int_equal(larges.hands, THREADS);
    for (unsigned i = 0; i < THREADS; i++)
        large_hand_empty(&hands[i]);
    large_configure(16 * MIB - 1);
    take_turns(THREADS);
    assert_int_equal(larges.hands, 3); /* a quarter of what may wait */
    for (unsigned i = 0; i < THREADS; i++)
        large_hand_empty(&hands[i]);
    large_configure(0);
    for (unsigned turn = 0; turn < 3 * FAVOUR_SHARED; turn++) {
        be(turn % THREADS);
        delete_block(new_block(RUN));
    }
    assert_int_equal(larges.hands, 0);
}

/* More than a refill brings, where all find them; `gathered`: they wait in order. */
static void let_some_wait(bool gathered) {
    void *blocks[2 * LARGE_REFILL];
    for (unsigned i = 0; i < ARRAY_LENGTH(blocks); i++)
        blocks[i] = measured_block(3 * RUN, 8 * KIB);
    for (unsigned i = 0; i < ARRAY_LENGTH(blocks); i++)
        delete_block(blocks[i]);
    large_hand_visit(&hands[0], true);
    assert_int_equal(recent_of(&hands[0])->count, 0);
    if (gathered)
        large_gather_now();
    assert_int_equal(larges.waiting > LARGE_REFILL, gathered);
}

static void check_refill(bool gathered) {
    take_turns(2);
    let_some_wait(gathered);
    be(1);
    size_t waiting = waiting_blocks(), live = larges.live, held = larges.held;
    void *block = new_block(3 * RUN);
    unsigned more = recent_of(&hands[1])->count;
    assert_int_equal(waiting_blocks(), waiting - LARGE_REFILL - 1);
    assert_int_equal(larges.live, live + (LARGE_REFILL + 1) * 5 * UNIT_SIZE);
    assert_int_equal(larges.held, held + (gathered ? (LARGE_REFILL + 1) * 8 * KIB : 0));
    uint32_t turns = larges.lock.turns;
    void *another = new_block(3 * RUN);
    assert_int_equal(recent_of(&hands[1])->count, more - 1);
    assert_int_equal(larges.lock.turns, turns);
    delete_block(block);
    delete_block(another);
    check_hands();
}

static void large_P4_an_empty_hand_is_refilled(void **state) {
    (void)state;
    check_refill(false);
}

static void large_P4_an_empty_hand_is_refilled_from_what_waits(void **state) {
    (void)state;
    check_refill(true);
}

/* Who frees more than a hand has room for, and than all find at hand, takes the lock once for each part of a hand. */
static void large_P4_what_is_given_away_waits_at_once(void **state) {
    (void)state;
    enum { MORE = 64 };
    void *blocks[2 * SPARE_RECENT + MORE];
    take_turns(2);
    hold_hand(0);
    for (unsigned i = 0; i < ARRAY_LENGTH(blocks); i++)
        blocks[i] = measured_block(UNIT_SIZE, 8 * KIB);
    for (unsigned i = 0; i < 2 * SPARE_RECENT; i++)
        delete_block(blocks[i]);
    unsigned waiting = larges.waiting;
    uint32_t turns = larges.lock.turns;
    for (unsigned i = 2 * SPARE_RECENT; i < ARRAY_LENGTH(blocks); i++)
        delete_block(blocks[i]);
    assert_in_range(larges.waiting - waiting, MORE - LARGE_REFILL, MORE + LARGE_REFILL);
    assert_in_range(larges.lock.turns - turns, 1, MORE / 8 + 1);
    check_hands();
    unsigned held = recent_of(&hands[0])->count;
    assert_true(held > 64);
    turns = larges.lock.turns;
    large_hand_visit(&hands[0], true);
    assert_int_equal(larges.lock.turns - turns, (held + 15) / 16); /* nobody waits for all of them */
    large_hand_visit(&hands[1], true);
    assert_int_equal(larges.live, 0);
}

/* What rests at hand goes back to where all find it, and what was live is so no more. */
static void large_P4_what_rests_at_hand_is_taken_away(void **state) {
    (void)state;
    take_turns(2);
    large_hand_visit(&hands[1], true);
    size_t waiting = waiting_blocks();
    void *block = measured_block(2 * RUN, 8 * KIB);
    delete_block(block);
    assert_true(large_hand_visit(&hands[0], false));
    unsigned held = recent_of(&hands[0])->count;
    assert_ptr_equal(new_block(2 * RUN), block);
    assert_true(large_hand_visit(&hands[0], false)); /* it did not rest */
    delete_block(block);
    assert_true(large_hand_visit(&hands[0], false));
    assert_int_equal(recent_of(&hands[0])->count, held);
    assert_false(large_hand_visit(&hands[0], false));
    assert_false(hands[0].may);
    assert_int_equal(waiting_blocks(), waiting + held);
    assert_int_equal(larges.live, 0);
    assert_int_equal(larges.hands, 0);
    assert_false(large_hand_visit(&hands[0], true));
    assert_ptr_equal(new_block(2 * RUN), block); /* and serves */
    delete_block(block);
    check_hands();
}

static void large_P4_who_goes_leaves_nothing_at_hand(void **state) {
    (void)state;
    take_turns(2);
    void *block = measured_block(2 * RUN, 8 * KIB);
    delete_block(block);
    assert_true(recent_of(&hands[0])->count > 0);
    assert_true(large_was_freed(pagemap_record(block), block));
    const struct large *large = pagemap_record(block);
    assert_true(large->start < (unsigned char *)block); /* no address of the block is taken for its start */
    assert_ptr_not_equal(pagemap_record(large->start), large);
    large_hand_empty(&hands[0]);
    large_hand_empty(&hands[1]);
    assert_int_equal(larges.live, 0);
    check_hands();
    assert_true(large_was_freed(large, block)); /* where all find it, it is at hand still */
    large_gather_now();
    assert_int_equal(pagemap_tag(block), PAGEMAP_NONE);
    assert_null(pagemap_record(block));
    large_purge(0, ALWAYS);
    assert_int_equal(larges.held, 0);
    assert_int_equal(large_waiting_bytes(), 0);
}

static void large_P4_near_the_soft_limit_nothing_is_at_hand(void **state) {
    (void)state;
    take_turns(2);
    void *block = measured_block(RUN, 8 * KIB);
    large_hand_visit(&hands[0], true);
    hold_hand(0);
    limit_configure(SIZE_MAX - 1, 1, 0);
    assert_true(limit_near());
    delete_block(block);
    assert_int_equal(recent_of(&hands[0])->count, 0);
    large_hand_empty(&hands[0]);
    delete_block(new_block(RUN));
    assert_false(hands[0].may); /* nor is one given */
}

/* Of just as many units, else of nearly as many: also while others wait where all find them. */
static void large_P1_a_hand_gives_what_fits_best(void **state) {
    (void)state;
    take_turns(2);
    void *eight = measured_block(8 * UNIT_SIZE, 8 * KIB), *nine = measured_block(9 * UNIT_SIZE, 8 * KIB);
    large_hand_visit(&hands[0], true);
    hold_hand(0);
    delete_block(eight);
    delete_block(nine);
    assert_int_equal(recent_of(&hands[0])->count, 2);
    assert_ptr_equal(large_again(large_hand_mine(), 8 * UNIT_SIZE), eight);
    assert_ptr_equal(large_again(large_hand_mine(), 8 * UNIT_SIZE), nine);
    assert_null(large_again(large_hand_mine(), 8 * UNIT_SIZE));
    delete_block(nine);
    assert_null(large_again(large_hand_mine(), 7 * UNIT_SIZE)); /* too long */
    assert_null(large_again(large_hand_mine(), 9 * UNIT_SIZE + 1));
    delete_block(eight);
    check_hands();
}

/* The calling thread's seat is the favourite: it goes in and out without the lock. */
static void be_the_favourite(void) {
    be(0);
    for (unsigned turn = 0; turn < 2 * FAVOUR_FROM; turn++)
        delete_block(new_block(RUN));
    assert_ptr_equal(atomic_load(&larges.lock.favourite), &hands[0].seat);
    assert_int_equal(larges.hands, 0);
}

static void large_P4_the_favourite_needs_no_refill(void **state) {
    (void)state;
    be_the_favourite();
    let_some_wait(true);
    hold_hand(0);
    hands[0].low = true;
    delete_block(new_block(3 * RUN));
    assert_ptr_equal(atomic_load(&larges.lock.favourite), &hands[0].seat);
    assert_int_equal(recent_of(&hands[0])->count, 0);
    check_hands();
}

/* It holds blocks of another size: more of this one would drive them out. */
static void large_P4_a_hand_that_has_some_is_not_refilled(void **state) {
    (void)state;
    enum { SOME = 8 };
    void *others[SOME];
    take_turns(2);
    let_some_wait(true);
    be(1);
    large_hand_visit(&hands[1], true);
    hold_hand(1);
    for (unsigned i = 0; i < SOME; i++)
        others[i] = measured_block(2 * UNIT_SIZE, 8 * KIB);
    for (unsigned i = 0; i < SOME; i++)
        delete_block(others[i]);
    assert_int_equal(recent_of(&hands[1])->count, SOME);
    void *block = new_block(3 * RUN);
    assert_int_equal(recent_of(&hands[1])->count, SOME);
    delete_block(block);
    check_hands();
}

/* As many of which little is in memory as may always wait: they go through no list and no count. */
static void large_P2_hundreds_that_were_freed_last_are_at_hand(void **state) {
    (void)state;
    void *blocks[LARGE_WAITING_FEW];
    for (unsigned i = 0; i < ARRAY_LENGTH(blocks); i++)
        blocks[i] = measured_block(UNIT_SIZE, 8 * KIB);
    for (unsigned i = 0; i < ARRAY_LENGTH(blocks); i++)
        delete_block(blocks[i]);
    assert_int_equal(larges.recent.count, ARRAY_LENGTH(blocks));
    assert_int_equal(larges.waiting, 0);
}

/* The hit looks where just as many units are; what is longer than they can tell it leaves alone. */
static void large_P1_the_favourite_is_given_as_much_as_it_wants(void **state) {
    (void)state;
    be_the_favourite();
    void *run = measured_block(9 * UNIT_SIZE, 8 * KIB), *long_one = measured_block(48 * UNIT_SIZE, 8 * KIB);
    delete_block(run);
    delete_block(long_one);
    assert_int_equal(larges.live, 0);
    const size_t others[] = {0,
                             1,
                             8 * UNIT_SIZE,
                             9 * UNIT_SIZE + 1,
                             spare_bin(48 * UNIT_SIZE) * (size_t)UNIT_SIZE,
                             48 * UNIT_SIZE,
                             SPARE_RECENT_BINS * (size_t)UNIT_SIZE,
                             1 * GIB,
                             SIZE_MAX - UNIT_SIZE,
                             SIZE_MAX};
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
        assert_null(large_again(large_hand_mine(), others[i]));
    assert_ptr_equal(large_again(large_hand_mine(), 8 * UNIT_SIZE + 1), run);
    assert_int_equal(larges.live, 9 * UNIT_SIZE);
    assert_null(large_again(large_hand_mine(), 9 * UNIT_SIZE));
    delete_block(run);
    void *eight = new_block(8 * UNIT_SIZE); /* one more unit serves, and is left out ... */
    assert_ptr_equal(eight, run);
    assert_int_equal(larges.live, 8 * UNIT_SIZE);
    delete_block(eight);
    assert_ptr_equal(large_again(large_hand_mine(), 9 * UNIT_SIZE), run); /* ... until it is wanted */
    assert_int_equal(larges.live, 9 * UNIT_SIZE);
    assert_int_equal(((struct large *)pagemap_record(run))->bytes, 9 * UNIT_SIZE);
    delete_block(run);
    assert_ptr_equal(atomic_load(&larges.lock.favourite), &hands[0].seat);
}

/* What is longer than a run is counted as if it were of whole huge pages, once, while it is live. */
static void large_rounding_of_the_favourite_comes_out(void **state) {
    (void)state;
    be_the_favourite();
    assert_int_equal(lengths.rounding, 0);
    for (unsigned i = 0; i < 8; i++) {
        void *block = new_block(3 * MIB / 2);
        assert_int_equal(lengths.rounding, MIB / 2);
        delete_block(block);
        assert_int_equal(lengths.rounding, 0);
    }
    assert_true(larges.recent.count > 0); /* it came to hand */
    assert_ptr_equal(atomic_load(&larges.lock.favourite), &hands[0].seat);
}

static void large_P2_near_the_soft_limit_the_favourite_keeps_nothing(void **state) {
    (void)state;
    be_the_favourite();
    void *block = measured_block(RUN, 8 * KIB);
    large_purge(0, ALWAYS);
    limit_configure(SIZE_MAX - 1, 1, 0);
    assert_true(limit_near());
    delete_block(block);
    assert_int_equal(waiting_blocks(), 0);
    assert_int_equal(pagemap_tag(block), PAGEMAP_NONE);
}

/* The hit says no, and all is as it was. */
static void check_that_none_rests(void *block) {
    struct large *large = pagemap_record(block), before = *large;
    struct spare_recent recent = larges.recent, at_hand = *recent_of(&hands[0]);
    size_t live = larges.live, held = larges.held;
    assert_false(large_rest(large, large_hand_mine()));
    assert_memory_equal(large, &before, sizeof before);
    assert_memory_equal(&larges.recent, &recent, sizeof recent);
    assert_memory_equal(recent_of(&hands[0]), &at_hand, sizeof at_hand);
    assert_int_equal(larges.live, live);
    assert_int_equal(larges.held, held);
    assert_false(atomic_load(&hands[0].seat.busy) || visit_is_busy(&hands[0].visit));
}

static void watch_the_limit(bool watch) {
    limit_configure(SIZE_MAX - 1, watch, 0);
    assert_int_equal(limit_is_watching(), watch);
}

/* What the hit has to leave to others, at both: a mapping, what is to be measured, what is too much, and all near a limit. */
static void check_the_hit(void) {
    void *run = measured_block(RUN, 8 * KIB), *mapping = measured_block(3 * MIB, 8 * KIB);
    struct large *large = pagemap_record(run);
    check_that_none_rests(mapping);
    large->counted = 1; /* as a short mapping with slack */
    struct superslab *home = large->home;
    large->home = NULL;
    check_that_none_rests(run);
    large->home = home;
    large->counted = 0;
    watch_the_limit(true);
    check_that_none_rests(run);
    watch_the_limit(false);
    large->due = 0;
    check_that_none_rests(run);
    large->due = 1;
    size_t resident = large->resident;
    large->resident = 32 * MIB;
    check_that_none_rests(run);
    large->resident = resident;
    assert_true(large_rest(large, large_hand_mine()));
    assert_true(large_was_freed(large, run));
    assert_int_equal(large->due, 0);
    assert_ptr_equal(large_again(large_hand_mine(), RUN), run);
    assert_ptr_equal(large->start, run);
    delete_block(run);
    delete_block(mapping);
}

static void large_P1_the_hit_of_the_favourite_is_all_or_nothing(void **state) {
    (void)state;
    be_the_favourite();
    check_the_hit();
    assert_ptr_equal(atomic_load(&larges.lock.favourite), &hands[0].seat);
}

static void large_P1_the_hit_of_a_hand_is_all_or_nothing(void **state) {
    (void)state;
    take_turns(2);
    hold_hand(0);
    check_the_hit();
    void *run = measured_block(RUN, 8 * KIB);
    struct large *large = pagemap_record(run);
    atomic_store(&hands[0].visit.wanted, 1); /* a visitor waits to come in */
    check_that_none_rests(run);
    assert_null(large_again(large_hand_mine(), RUN));
    atomic_store(&hands[0].visit.wanted, 0);
    large->extent += UNIT_SIZE; /* as if it served for a shorter one */
    check_that_none_rests(run);
    large->extent -= UNIT_SIZE;
    large_hand_empty(&hands[0]); /* nor without one */
    check_that_none_rests(run);
    delete_block(run);
    check_hands();
}

static void *delete_from_without(void *block) {
    be(1);
    assert_false(large_rest(pagemap_record(block), large_hand_mine()));
    large_delete(pagemap_record(block));
    return NULL;
}

/* Of a live mapping any thread may take the slack, while another one waits for the lock to free it. */
static void large_P1_slack_goes_while_its_block_is_freed(void **state) {
    (void)state;
    pthread_t other;
    be(0);
    unsigned char *block = new_block(6 * MIB);
    assert_ptr_equal(large_resize(pagemap_record(block), 4 * MIB), block);
    const struct large *large = pagemap_record(block);
    assert_true(large->roomy);
    size_t mapped = large_mapped_bytes();
    large_have_record();
    favour_end(&larges.lock); /* then who waits for it does so in one way */
    assert_int_equal(pthread_create(&other, NULL, delete_from_without, block), 0);
    while (atomic_load(&larges.lock.lock.state) != 2) /* it may sleep there */
        sched_yield();
    struct large *rest = large_give_up_slack();
    favour_release(&larges.lock);
    assert_non_null(rest);
    assert_ptr_equal(rest->start, block + 4 * MIB);
    assert_int_equal(large_release(rest), 2 * MIB);
    pthread_join(other, NULL);
    assert_int_equal(large_mapped_bytes(), mapped - 2 * MIB);
    assert_null(larges.stuck);
    assert_true(pagemap_tag(block) == PAGEMAP_NONE || large_was_freed(large, block));
}

/* A run that served for a shorter one has a length that its next user may not rely on. */
static void large_P1_a_block_from_a_hand_is_as_long_as_was_wanted(void **state) {
    (void)state;
    take_turns(2);
    void *nine = measured_block(9 * UNIT_SIZE, 8 * KIB);
    large_hand_visit(&hands[0], true);
    delete_block(nine);
    void *eight = new_block(8 * UNIT_SIZE);
    assert_ptr_equal(eight, nine);
    assert_int_equal(((struct large *)pagemap_record(eight))->bytes, 8 * UNIT_SIZE);
    hold_hand(0);
    delete_block(eight);
    assert_int_equal(recent_of(&hands[0])->count, 0);
    void *again = new_block(9 * UNIT_SIZE); /* checks its length */
    assert_ptr_equal(again, nine);
    delete_block(again);
    void *more[3]; /* nor what comes to hand with another one */
    for (unsigned i = 0; i < 3; i++)
        more[i] = measured_block(9 * UNIT_SIZE, 8 * KIB);
    large_hand_empty(&hands[0]);
    larges.lock.changes = 0; /* so that it gets none now */
    for (unsigned i = 0; i < 3; i++)
        delete_block(more[i]);
    for (unsigned i = 0; i < 3; i++)
        more[i] = new_block(8 * UNIT_SIZE);
    for (unsigned i = 0; i < 3; i++)
        delete_block(more[i]);
    hold_hand(0);
    for (unsigned i = 0; i < 3; i++)
        more[i] = new_block(9 * UNIT_SIZE);
    for (unsigned i = 0; i < 3; i++)
        delete_block(more[i]);
}

/* Its own thread needs no barrier to empty it, which a filter of system calls may forbid. */
static void large_P4_the_thread_itself_is_no_visitor(void **state) {
    (void)state;
    take_turns(2);
    delete_block(measured_block(2 * RUN, 8 * KIB));
    unsigned barriers = kernel.barriers;
    assert_false(large_hand_visit(&hands[0], true));
    assert_int_equal(kernel.barriers, barriers);
    assert_false(large_hand_visit(&hands[1], true));
    assert_int_equal(kernel.barriers, barriers + 1);
    assert_int_equal(recent_of(&hands[0])->count + recent_of(&hands[1])->count + larges.hands, 0);
}

/* Of a thread that was in the middle of a call when the process forked: what it held cannot be told. */
static void large_P4_what_a_fork_has_torn_is_left(void **state) {
    (void)state;
    take_turns(2);
    be(1);
    hold_hand(1);
    delete_block(measured_block(2 * RUN, 8 * KIB));
    struct spare_recent recent = *hands[1].recent;
    assert_true(large_hand_in_child(&hands[0]));
    assert_true(large_hand_in_child(&hands[1]));
    large_hands_in_child(2);
    check_hands();
    atomic_store(&hands[1].visit.busy, 1);
    assert_false(large_hand_in_child(&hands[1]));
    assert_int_equal(recent_of(&hands[1])->count, 0);
    larges.hands = 7;
    large_hands_in_child(1);
    check_hands();
    larges.outside += LARGE_HAND_LEAST; /* the fork came between the two sums */
    large_hands_in_child(1);
    check_hands();
    assert_false(large_hand_visit(&hands[1], true));
    atomic_store(&hands[1].visit.busy, 0);
    *hands[1].recent = recent;
    hold_hand(1);
    be(0);
}

/* Nothing comes to hand with another block that has no place there: it would go back at once, and others would miss it. */
static void large_P4_a_refill_has_its_place(void **state) {
    (void)state;
    static const struct {
        size_t size, resident;
        unsigned most;
    } rows[] = {{10 * UNIT_SIZE, 600 * KIB, 0}, {4 * UNIT_SIZE, 200 * KIB, 5}, {MIB, 8 * KIB, 3}};
    take_turns(2);
    for (unsigned i = 0; i < ARRAY_LENGTH(rows); i++) {
        void *blocks[2 * LARGE_REFILL];
        for (unsigned j = 0; j < ARRAY_LENGTH(blocks); j++)
            blocks[j] = measured_block(rows[i].size, rows[i].resident);
        large_hand_visit(&hands[0], true);
        large_hand_visit(&hands[1], true);
        larges.lock.changes = 0; /* so that it gets none now */
        for (unsigned j = 0; j < ARRAY_LENGTH(blocks); j++)
            delete_block(blocks[j]);
        be(1);
        hold_hand(1);
        size_t live = larges.live, waiting = waiting_blocks();
        blocks[0] = new_block(rows[i].size);
        unsigned brought = recent_of(&hands[1])->count;
        assert_in_range(brought, rows[i].most > 0, rows[i].most);
        assert_int_equal(larges.live,
                         live + (1 + brought) * ((struct large *)pagemap_record(blocks[0]))->extent);
        assert_int_equal(waiting_blocks(), waiting - 1 - brought);
        delete_block(blocks[0]);
        large_hand_visit(&hands[1], true);
        large_purge(0, ALWAYS);
        be(0);
    }
}

/* Nobody gets a hand for what does not come to hand. */
static void large_P4_hands_are_for_who_can_use_them(void **state) {
    (void)state;
    take_turns(2);
    be(3);
    for (unsigned i = 0; i < 10; i++) {
        delete_block(new_block(3 * MIB));
        bool zeroed;
        delete_block(large_new(UNIT_SIZE, 4 * MIB, &zeroed));
    }
    assert_false(hands[3].may);
    delete_block(new_block(UNIT_SIZE));
    assert_true(hands[3].may);
}

/* What nobody asks for goes in the course of time, whatever its size; and what goes on waits for its next measuring as long as before. */
static void large_P4_a_full_hand_is_renewed(void **state) {
    (void)state;
    enum { USELESS = 4, USED = 300 };
    struct large *useless[USELESS];
    void *used[USED];
    take_turns(2);
    large_hand_visit(&hands[0], true);
    hold_hand(0);
    for (unsigned i = 0; i < USELESS; i++)
        useless[i] = pagemap_record(measured_block((2 + i) * UNIT_SIZE, 8 * KIB));
    for (unsigned i = 0; i < USED; i++)
        used[i] = measured_block(UNIT_SIZE, 8 * KIB);
    for (unsigned i = 0; i < USELESS; i++)
        delete_block(useless[i]->start);
    size_t bytes = USELESS * (USELESS + 3) / 2 * (size_t)UNIT_SIZE;
    assert_int_equal(recent_of(&hands[0])->bytes, bytes);
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned i = 0; i < USED; i++)
            delete_block(used[i]);
        for (unsigned i = 0; i < USED; i++)
            used[i] = new_block(UNIT_SIZE);
    }
    for (unsigned i = 0; i < USED; i++)
        delete_block(used[i]);
    assert_int_equal(recent_of(&hands[0])->filled, 1 << 1); /* all are of one unit */
    for (unsigned i = 0; i < USELESS; i++)
        assert_int_equal(useless[i]->due, UINT16_MAX - 1); /* it was freed once */
}

/* One of each size goes, in turn: it keeps most of what comes most. */
static void large_P4_a_full_hand_keeps_most_of_what_comes_most(void **state) {
    (void)state;
    enum { COUNT = 96, SIZES = 4 };
    void *blocks[COUNT];
    unsigned kept[SIZES + 1] = {0};
    take_turns(2);
    large_hand_visit(&hands[0], true);
    hold_hand(0);
    for (unsigned i = 0; i < COUNT; i++) /* half of them have one unit, and a sixth two, three, or four */
        blocks[i] = measured_block((i % 2 ? 1 : 2 + i / 2 % 3) * UNIT_SIZE, 8 * KIB);
    for (unsigned i = 0; i < COUNT; i++)
        delete_block(blocks[i]);
    for (unsigned size = 1; size <= SIZES; size++)
        for (const struct large *large = recent_of(&hands[0])->stack[size]; large; large = large->next)
            kept[size]++;
    for (unsigned size = 2; size <= SIZES; size++)
        assert_in_range(kept[size], 4, kept[1] / 2);
}

/* A thread that wants nothing of what it has at hand does not keep it by asking for something else. */
static void large_P4_misses_are_no_uses(void **state) {
    (void)state;
    take_turns(2);
    delete_block(measured_block(2 * RUN, 8 * KIB));
    assert_true(large_hand_visit(&hands[0], false));
    void *other = new_block(7 * UNIT_SIZE);
    delete_block(new_block(3 * MIB));
    assert_false(large_hand_visit(&hands[0], false));
    delete_block(other);
}

/* Nothing is lost, and nothing counts that is not there. */
static int teardown(void **state) {
    (void)state;
    check_hands();
    for (unsigned i = 0; i < THREADS; i++)
        large_hand_empty(&hands[i]);
    large_purge(0, ALWAYS);
    return larges.live + larges.held + larges.hands + runs == 0 ? 0 : -1;
}

int main(void) {
    assert_true(os_barrier_prepare());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(large_P4_only_where_threads_take_turns, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P4_what_is_at_hand_needs_no_lock, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P4_some_blocks_do_not_come_to_hand, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P4_what_has_to_be_measured_comes_to_hand_then, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P4_a_hand_grows_where_its_thread_frees_what_it_took, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(large_P4_a_block_knows_whose_hand_took_it, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P4_hands_share_what_all_may_hold, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P4_who_goes_leaves_a_hand_as_it_was, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P4_a_hand_is_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P4_the_more_hands_the_less_in_each, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P4_a_full_hand_keeps_most_of_what_comes_most, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P4_hands_are_few, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P4_an_empty_hand_is_refilled, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P4_an_empty_hand_is_refilled_from_what_waits, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P4_what_is_given_away_waits_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P4_the_favourite_needs_no_refill, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P2_hundreds_that_were_freed_last_are_at_hand, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P4_a_hand_that_has_some_is_not_refilled, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P4_what_rests_at_hand_is_taken_away, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P4_who_goes_leaves_nothing_at_hand, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P4_near_the_soft_limit_nothing_is_at_hand, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P1_a_hand_gives_what_fits_best, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P1_the_hit_of_the_favourite_is_all_or_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P1_the_hit_of_a_hand_is_all_or_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P1_slack_goes_while_its_block_is_freed, setup, teardown),
        cmocka_unit_test_setup_teardown(large_rounding_of_the_favourite_comes_out, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P1_the_favourite_is_given_as_much_as_it_wants, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P2_near_the_soft_limit_the_favourite_keeps_nothing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(large_P1_a_block_from_a_hand_is_as_long_as_was_wanted, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(large_P4_the_thread_itself_is_no_visitor, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P4_what_a_fork_has_torn_is_left, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P4_misses_are_no_uses, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P4_a_full_hand_is_renewed, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P4_a_refill_has_its_place, setup, teardown),
        cmocka_unit_test_setup_teardown(large_P4_hands_are_for_who_can_use_them, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
