/* Unit tests of lengths. The rooms below are fakes; each test begins knowing nothing. */
#include "lengths.h"

#include "dense.h"
#include "unit/unit.h"

#include <string.h>

#define RUN ((size_t)512 * KIB)

static struct {
    size_t field_used;
    bool pay, runs_are_whole;
    enum dense_kind sparse; /* runs of that kind are not written whole; 0: all are */
} fake;

size_t superslab_field_used(void) {
    return fake.field_used;
}

bool superslab_fields_pay(size_t outside) {
    return fake.pay && outside > 0;
}

enum dense_known dense_known(enum dense_kind kind) {
    assert_in_range(kind, DENSE_LARGE, DENSE_LARGEST);
    return fake.runs_are_whole && kind != fake.sparse ? DENSE_YES : DENSE_NO;
}

/* What is live; most, if it is more than ever. */
static struct lengths_live live;

static int setup(void **state) {
    (void)state;
    memset(&lengths, 0, sizeof lengths);
    memset(&fake, 0, sizeof fake);
    fake.pay = fake.runs_are_whole = true;
    live = (struct lengths_live){10 * MIB, 10 * MIB, true};
    return 0;
}

static void note(size_t bytes, unsigned times) {
    for (unsigned i = 0; i < times; i++)
        lengths_note(bytes, true, false, live);
}

static void note_mixed(unsigned times) {
    for (unsigned i = 0; i < times; i++)
        note(lengths.last == 2 * MIB ? 3 * MIB : 2 * MIB, 1);
}

/* Of many lengths, and known to be nearly all there is. */
static void begin_mixed(void) {
    note_mixed(64);
    assert_true(lengths_suit_solid() != lengths_suit_fields());
}

static void lengths_P1_few_of_many_lengths_are_solid_and_many_in_fields(void **state) {
    (void)state;
    note_mixed(7);
    assert_true(!lengths_suit_solid() && !lengths_suit_fields());
    note_mixed(64);
    assert_true(lengths_suit_solid() && !lengths_suit_fields());
    live.most = 16 * MIB - UNIT_SIZE;
    note_mixed(2);
    assert_true(lengths_suit_solid() && !lengths_suit_fields());
    live.most = 16 * MIB;
    note_mixed(2);
    assert_true(!lengths_suit_solid() && lengths_suit_fields());
}

/* What is in fields is as live as the rest; and where fields do not pay they are none. */
static void lengths_fields_are_for_what_is_live_there_too(void **state) {
    (void)state;
    fake.pay = false;
    fake.field_used = 6 * MIB;
    begin_mixed();
    assert_true(lengths_suit_solid());
    fake.pay = true;
    note_mixed(2);
    assert_true(lengths_suit_fields());
}

static void lengths_P1_one_length_is_neither(void **state) {
    (void)state;
    for (unsigned i = 0; i < 200; i++)
        note(i % 2 ? 2 * MIB : 5 * MIB / 2, 1); /* within a quarter */
    assert_true(!lengths_suit_solid() && !lengths_suit_fields());
    note_mixed(64);
    assert_true(lengths_suit_solid());
    note(3 * MIB, 128);
    assert_true(!lengths_suit_solid());
}

static void lengths_P1_beside_many_that_suit_neither_they_are_neither(void **state) {
    (void)state;
    for (int many = 0; many < 2; many++) {
        live.most = many ? 16 * MIB : 10 * MIB;
        for (int kind = 0; kind < 3; kind++) {
            memset(&lengths, 0, sizeof lengths);
            begin_mixed();
            for (unsigned i = 0; i < 16; i++) {
                if (kind == 0)
                    lengths_note(LENGTHS_MOST + UNIT_SIZE, true, false, live);
                else if (kind == 1)
                    lengths_note(4 * MIB, true, true, live);
                else
                    lengths_note_growth(4 * MIB);
                note_mixed(2);
            }
            assert_true(lengths.mixed);
            assert_true(!lengths_suit_solid() && !lengths_suit_fields());
        }
    }
}

/* What is aligned, or new for what has grown, is no length. */
static void lengths_others_do_not_count(void **state) {
    (void)state;
    begin_mixed();
    ptrdiff_t sum = lengths.unfit.sum, hard = lengths.hard.sum;
    uint32_t seen = lengths.seen;
    lengths_note(3 * MIB, false, false, live);
    assert_int_equal(lengths.seen, seen);
    assert_int_equal(lengths.unfit.sum, sum);
    lengths_note(3 * MIB, true, true, live); /* hardly touched, it is in no field */
    assert_int_equal(lengths.hard.sum, hard);
    note(3 * MIB, 1);
    assert_in_range(lengths.hard.sum, hard + 1, hard + 3 * MIB);
}

/* Runs that are written whole are lengths, too; where they are more than a ninth of the bytes nothing is solid, as they
 * would hold what waits. */
static void lengths_runs_count(void **state) {
    (void)state;
    for (unsigned i = 0; i < 64; i++) {
        note(3 * MIB, 1);
        lengths_note_run(4 * UNIT_SIZE);
    }
    assert_true(lengths.mixed && lengths_suit_solid());
    for (unsigned i = 0; i < 200; i++) {
        note(3 * MIB, 1);
        lengths_note_run(RUN);
    }
    assert_true(lengths.mixed && !lengths_suit_solid());
    live.most = 16 * MIB;
    note(3 * MIB, 1);
    assert_true(lengths_suit_fields());
}

static void lengths_other_runs_do_not_count(void **state) {
    (void)state;
    fake.runs_are_whole = false;
    lengths_note_run(RUN);
    fake.runs_are_whole = true;
    lengths_note_run((DENSE_LARGE_LEAST - 1) * UNIT_SIZE);
    lengths_note_run(LENGTHS_RUN_MOST + UNIT_SIZE);
    fake.sparse = DENSE_LARGEST;
    lengths_note_run(LENGTHS_RUN_MOST);
    assert_int_equal(lengths.seen, 0);
    assert_int_equal(lengths.runs.sum, 0);
    lengths_note_run(LENGTHS_RUN_MOST - UNIT_SIZE);
    assert_int_equal(lengths.seen, 1);
}

/* From six times the longest on, 8 MiB at least, where most are of another length than the one before. */
static void lengths_short_ones_are_in_fields_earlier(void **state) {
    (void)state;
    live.now = live.most = 12 * MIB - UNIT_SIZE;
    for (unsigned i = 0; i < 64; i++)
        note(i % 2 ? 2 * MIB : 5 * MIB / 4, 1);
    assert_false(lengths_suit_fields());
    live.most = 12 * MIB;
    for (unsigned i = 0; i < 64; i++)
        note(i % 3 ? 2 * MIB : 5 * MIB / 4, 1); /* two of three; then one of two */
    assert_true(lengths_suit_fields());
    setup(NULL);
    live.most = 12 * MIB;
    for (unsigned i = 0; i < 128; i++)
        note(i % 4 < 2 ? 2 * MIB : 5 * MIB / 4, 1);
    assert_false(lengths_suit_fields());
    setup(NULL);
    live = (struct lengths_live){12 * MIB, 12 * MIB, false};
    for (unsigned i = 0; i < 128; i++)
        note(i % 2 ? 2 * MIB : 5 * MIB / 4, 1);
    assert_false(lengths.enough);
    setup(NULL);
    live.most = 8 * MIB - UNIT_SIZE;
    for (unsigned i = 0; i < 128; i++) {
        lengths_note_run(RUN);
        note(9 * MIB / 8, 1);
    }
    assert_false(lengths.enough);
    live.most = 8 * MIB;
    for (unsigned i = 0; i < 32; i++) {
        lengths_note_run(RUN);
        note(9 * MIB / 8, 1);
    }
    assert_true(lengths.enough);
}

/* Some are long: from four times the longest on. */
static void lengths_long_ones_are_in_fields_later(void **state) {
    (void)state;
    live.now = live.most = 35 * MIB;
    for (unsigned i = 0; i < 128; i++)
        note(i % 2 ? 2 * MIB : 9 * MIB, 1);
    assert_true(lengths_suit_solid() && !lengths_suit_fields());
    live.most = 36 * MIB;
    note(9 * MIB, 1);
    assert_true(!lengths_suit_solid() && lengths_suit_fields());
}

static void lengths_one_that_was_long_is_forgotten(void **state) {
    (void)state;
    live.now = live.most = 16 * MIB;
    note(12 * MIB, 1);
    note_mixed(100);
    assert_false(lengths.enough);
    note_mixed(200);
    assert_true(lengths_suit_fields());
}

/* Such would leave gaps there, if they were more than a ninth: they are solid, if they are not too much for that, and so are the others. */
static void lengths_many_long_ones_are_in_no_field(void **state) {
    (void)state;
    live.now = live.most = 60 * MIB;
    for (unsigned i = 0; i < 128; i++)
        note(i % 2 ? 3 * MIB : LENGTHS_MOST, 1);
    assert_true(lengths_suit_solid() && !lengths_suit_fields());
    live.most = 4 * LENGTHS_MOST;
    note(LENGTHS_MOST, 1);
    assert_true(lengths.enough && !lengths_suit_solid() && !lengths_suit_fields());
    for (unsigned i = 0; i < 256; i++)
        note(i % 2 ? 12 * MIB : 3 * MIB, 1);
    assert_true(lengths_suit_fields());
    for (unsigned i = 0; i < 1024; i++)
        note(i % 2 ? 4 * MIB : 6 * MIB, 1);
    assert_true(lengths_suit_fields());
    for (unsigned i = 0; i < 1024; i++)
        note(i % 32 ? (i % 2 ? 4 * MIB : 6 * MIB) : LENGTHS_MOST, 1); /* a tenth: 16 of 170 */
    assert_true(lengths_suit_fields());
}

/* Solid ones would hold too much six times in a row: over for 1,024 blocks, then for 8,192. */
static void lengths_P2_what_would_hold_too_much_is_not_solid(void **state) {
    (void)state;
    begin_mixed();
    for (unsigned times = 1; times <= 8; times *= 8) {
        lengths.rounding = live.most / 8; /* as much as may be */
        note_mixed(1000);
        assert_true(lengths_suit_solid());
        lengths.rounding += UNIT_SIZE;
        note_mixed(6);
        assert_true(lengths_suit_solid());
        note_mixed(1);
        assert_false(lengths_suit_solid());
        assert_int_equal(lengths.closed, LENGTHS_CLOSED * times);
        lengths.rounding = 0;
        note_mixed(LENGTHS_CLOSED * times - 1);
        assert_false(lengths_suit_solid());
        note_mixed(1);
        assert_true(lengths_suit_solid());
    }
}

/* One of sixty-four that comes when it is tight is few. */
static void lengths_what_would_seldom_hold_too_much_is_solid(void **state) {
    (void)state;
    begin_mixed();
    for (unsigned i = 0; i < 64 * 100; i++) {
        lengths.rounding = i % 70 == 0 ? live.most : 0;
        note_mixed(1);
        assert_true(lengths_suit_solid());
    }
}

static void lengths_refusals_are_tight(void **state) {
    (void)state;
    begin_mixed();
    for (unsigned i = 0; i < 6; i++)
        lengths_note_refusal();
    assert_true(lengths_suit_solid());
    lengths_note_refusal();
    assert_false(lengths_suit_solid());
    assert_int_equal(lengths.closed, LENGTHS_CLOSED);
}

/* However long it was tight: 512 blocks that are not. */
static void lengths_are_not_tight_for_long(void **state) {
    (void)state;
    begin_mixed();
    lengths.rounding = live.most;
    note_mixed(1000);
    lengths.rounding = 0;
    lengths.closed = 0;
    note_mixed(511);
    assert_false(lengths_suit_solid());
    note_mixed(1);
    assert_true(lengths_suit_solid());
}

/* As long as it is tight it stays over, and what was so before more was live does not count. */
static void lengths_stay_tight_until_more_is_live(void **state) {
    (void)state;
    begin_mixed();
    lengths.rounding = live.most;
    note_mixed(2 * LENGTHS_CLOSED);
    assert_false(lengths_suit_solid());
    lengths.rounding = 0;
    note_mixed(256);
    assert_false(lengths_suit_solid());
    live.most += UNIT_SIZE;
    note_mixed(1);
    assert_true(lengths_suit_solid());
}

static void lengths_P2_an_exchange_ends_it(void **state) {
    (void)state;
    begin_mixed();
    for (unsigned times = 1; times <= 8; times *= 8) {
        lengths.exchanged = 0;
        lengths_note_exchange(2 * live.most, live.most);
        assert_true(lengths_suit_solid());
        lengths_note_exchange(UNIT_SIZE, live.most);
        assert_int_equal(lengths.closed, LENGTHS_CLOSED * times);
        lengths_note_exchange(SIZE_MAX / 2, live.most); /* what follows of that is none */
        note_mixed(LENGTHS_CLOSED * times);
        assert_true(lengths_suit_solid());
    }
    lengths_close();
    live.most = 16 * MIB;
    note_mixed(1);
    assert_true(lengths_suit_fields()); /* they are another thing */
    assert_int_equal(lengths.times, 0);
}

/* A 128th of what comes makes up for it. */
static void lengths_a_little_exchange_fades(void **state) {
    (void)state;
    begin_mixed();
    for (unsigned i = 0; i < 4096; i++) {
        lengths_note_exchange(2 * MIB / 128, live.most);
        note_mixed(1);
    }
    assert_true(lengths_suit_solid());
    for (unsigned i = 0; i < 4096 && lengths_suit_solid(); i++) {
        lengths_note_exchange(3 * 2 * MIB / 128, live.most);
        note_mixed(1);
    }
    assert_false(lengths_suit_solid());
}

static void lengths_round_to_huge_pages(void **state) {
    (void)state;
    lengths_count(3 * MIB, false);
    lengths_count(4 * MIB, false);
    assert_int_equal(lengths.rounding, MIB);
    lengths_count(2 * MIB + UNIT_SIZE, false);
    lengths_count(3 * MIB, true);
    assert_int_equal(lengths.rounding, 2 * MIB - UNIT_SIZE);
    assert_false(lengths_is_counted(LENGTHS_RUN_MOST));
    assert_true(lengths_is_counted(LENGTHS_RUN_MOST + UNIT_SIZE) && lengths_is_counted(LENGTHS_MOST));
    assert_false(lengths_is_counted(LENGTHS_MOST + UNIT_SIZE));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(lengths_P1_few_of_many_lengths_are_solid_and_many_in_fields, setup),
        cmocka_unit_test_setup(lengths_fields_are_for_what_is_live_there_too, setup),
        cmocka_unit_test_setup(lengths_P1_one_length_is_neither, setup),
        cmocka_unit_test_setup(lengths_P1_beside_many_that_suit_neither_they_are_neither, setup),
        cmocka_unit_test_setup(lengths_others_do_not_count, setup),
        cmocka_unit_test_setup(lengths_runs_count, setup),
        cmocka_unit_test_setup(lengths_other_runs_do_not_count, setup),
        cmocka_unit_test_setup(lengths_short_ones_are_in_fields_earlier, setup),
        cmocka_unit_test_setup(lengths_long_ones_are_in_fields_later, setup),
        cmocka_unit_test_setup(lengths_one_that_was_long_is_forgotten, setup),
        cmocka_unit_test_setup(lengths_many_long_ones_are_in_no_field, setup),
        cmocka_unit_test_setup(lengths_P2_what_would_hold_too_much_is_not_solid, setup),
        cmocka_unit_test_setup(lengths_what_would_seldom_hold_too_much_is_solid, setup),
        cmocka_unit_test_setup(lengths_refusals_are_tight, setup),
        cmocka_unit_test_setup(lengths_are_not_tight_for_long, setup),
        cmocka_unit_test_setup(lengths_stay_tight_until_more_is_live, setup),
        cmocka_unit_test_setup(lengths_P2_an_exchange_ends_it, setup),
        cmocka_unit_test_setup(lengths_a_little_exchange_fades, setup),
        cmocka_unit_test_setup(lengths_round_to_huge_pages, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
