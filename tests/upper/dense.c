/* Unit tests of dense, on real memory. */
#include "../../src/dense.c"

#include "kernel.h"
#include "unit/unit.h"

#include <string.h>

static unsigned char *units;

enum { UNITS = DENSE_LARGEST_LEAST };

static int setup(void **state) {
    kernel_reset(state);
    memset(&dense, 0, sizeof dense);
    memset(dense_watches, 0, sizeof dense_watches);
    dense.kinds[DENSE_SURELY].share = WHOLE + 1;
    units = os_map_aligned(UNITS * UNIT_SIZE, UNIT_SIZE, NULL);
    assert_non_null(units);
    os_advise(units, UNITS * UNIT_SIZE, OS_SMALL);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    assert_true(os_unmap(units, UNITS * UNIT_SIZE));
    return 0;
}

/* The least that one of that kind has, or what it might have. */
static size_t units_of(enum dense_kind kind) {
    switch (kind) {
    case DENSE_LARGE:
        return DENSE_LARGE_LEAST;
    case DENSE_LARGER:
        return DENSE_LARGER_LEAST;
    case DENSE_LARGEST:
        return DENSE_LARGEST_LEAST;
    default:
        return 2;
    }
}

/* Watches as many as it takes to look once, at units of which `quarters` were written. */
static void look(enum dense_kind kind, unsigned quarters) {
    os_advise(units, UNITS * UNIT_SIZE, OS_DONTNEED);
    memset(units, 1, quarters * (units_of(kind) * UNIT_SIZE / 4));
    for (unsigned i = 0; i < DENSE_WATCHES; i++)
        dense_watch(kind, units, units_of(kind), false);
}

static void dense_small_blocks_surely_are(void **state) {
    (void)state;
    assert_int_equal(dense_known(DENSE_SURELY), DENSE_YES);
    dense_count(DENSE_SURELY, 5);
    assert_int_equal(dense_units(false), 5);
    dense_count(DENSE_SURELY, -(size_t)2);
    assert_int_equal(dense_units(false), 3);
    assert_int_equal(dense_units(true), 3);
}

/* What nobody has looked at is hoped for only. */
static void dense_longer_ones_may_be(void **state) {
    (void)state;
    for (enum dense_kind kind = DENSE_SHORT; kind < DENSE_KINDS; kind++) {
        dense.any_large = 0;
        dense_watches[DENSE_LARGE].watched = 0;
        dense_count(kind, 7);
        assert_int_equal(dense_known(kind), DENSE_UNKNOWN);
        assert_int_equal(dense_units(false), 0);
        assert_int_equal(dense_units(true), 7);
        look(kind, 0);
        assert_int_equal(dense_known(kind), DENSE_UNKNOWN); /* there is one to look at now */
        look(kind, 4);
        assert_int_equal(dense_known(kind), DENSE_YES);
        assert_int_equal(dense_units(false), 7);
        dense_count(kind, -(size_t)7);
    }
}

/* P1: some that are written in part say as much as one that is not. */
static void dense_P1_three_quarters_on_average(void **state) {
    (void)state;
    look(DENSE_LONG, 4);
    look(DENSE_LONG, 3);
    assert_int_equal(dense_known(DENSE_LONG), DENSE_YES);
    look(DENSE_LONG, 0);
    assert_int_equal(dense_known(DENSE_LONG), DENSE_NO);
    dense_count(DENSE_LONG, 9);
    assert_int_equal(dense_units(true), 0);
    for (int i = 0; i < 3; i++)
        look(DENSE_LONG, 4);
    assert_int_equal(dense_known(DENSE_LONG), DENSE_YES);
    for (int i = 0; i < 20; i++)
        look(DENSE_LONG, 2);
    assert_int_equal(dense_known(DENSE_LONG), DENSE_NO);
    assert_int_equal(dense_known(DENSE_RUNS), DENSE_UNKNOWN);
}

/* The first looks weigh alike, whatever the very first one saw. */
static void dense_averages_over_what_there_is(void **state) {
    (void)state;
    size_t bytes = UNITS * UNIT_SIZE;
    dense_tell(DENSE_LARGEST, bytes, bytes);
    dense_tell(DENSE_LARGEST, 0, bytes);
    assert_int_equal(dense_known(DENSE_LARGEST), DENSE_NO);
    dense_tell(DENSE_RUNS, 0, bytes);
    for (unsigned whole = 1; whole <= 4; whole++) {
        assert_int_equal(dense_known(DENSE_RUNS), DENSE_NO);
        dense_tell(DENSE_RUNS, bytes, bytes);
    }
    assert_int_equal(dense_known(DENSE_RUNS), DENSE_YES); /* four of five */
}

/* Less than three quarters of it in memory, or nothing known; where nothing may be asked what is long is neither sparse nor dense. */
static void dense_tells_what_is_sparse(void **state) {
    (void)state;
    size_t bytes = UNITS * UNIT_SIZE;
    assert_false(dense_is_sparse(DENSE_SURELY));
    for (enum dense_kind kind = DENSE_SHORT; kind < DENSE_KINDS; kind++) {
        dense.any_large = 0;
        assert_true(dense_is_sparse(kind));
        dense_tell(kind, bytes / 8 * 5, bytes);
        assert_true(dense_is_sparse(kind));
        assert_int_equal(dense_known(kind), DENSE_NO);
        dense_tell(kind, bytes / 8 * 7, bytes);
        assert_false(dense_is_sparse(kind));
    }
    dense.kinds[DENSE_LARGER].share = dense.any_large = 0;
    dense_tell(DENSE_LARGE, bytes, bytes);
    assert_false(dense_is_sparse(DENSE_LARGER)); /* as the large ones together */
    dense_refuse_samples();
    for (enum dense_kind kind = DENSE_SHORT; kind < DENSE_KINDS; kind++) {
        assert_false(dense_is_sparse(kind));
        assert_int_equal(dense_known(kind), kind == DENSE_SHORT ? DENSE_YES : DENSE_NO);
    }
}

/* One of DENSE_WATCHES is looked at, once. */
static void dense_looks_seldom(void **state) {
    (void)state;
    memset(units, 1, UNITS * UNIT_SIZE);
    for (unsigned i = 0; i < DENSE_WATCHES; i++) {
        dense_watch(DENSE_LONG, units, UNITS, false);
        assert_int_equal(dense_known(DENSE_LONG), DENSE_UNKNOWN);
    }
    dense_watch(DENSE_LONG, units, UNITS, false);
    assert_int_equal(dense_known(DENSE_LONG), DENSE_YES);
}

/* A probe is looked at whatever was watched before; and what was freed tells at once. */
static void looks_at_probes(enum dense_kind kind) {
    memset(units, 1, UNITS * UNIT_SIZE);
    dense_watch(kind, units, units_of(kind), false);
    dense_watch(kind, units, units_of(kind), true);
    assert_int_equal(dense_known(kind), DENSE_YES);
    for (unsigned i = 1; i < AVERAGED_RUNS; i++)
        dense_tell(kind, UNITS * UNIT_SIZE, UNITS * UNIT_SIZE);
    for (unsigned i = 0; i < 4; i++) { /* a few that are not do not turn it */
        dense_tell(kind, 0, UNITS * UNIT_SIZE);
        assert_int_equal(dense_known(kind), DENSE_YES);
    }
    dense_tell(kind, 0, UNITS * UNIT_SIZE);
    assert_int_equal(dense_known(kind), DENSE_NO);
    for (unsigned i = 0; i < 16; i++)
        dense_tell(kind, UNITS * UNIT_SIZE, UNITS * UNIT_SIZE);
    assert_int_equal(dense_known(kind), DENSE_YES);
}

static void dense_looks_at_probes(void **state) {
    (void)state;
    looks_at_probes(DENSE_LARGE);
    assert_int_equal(dense_known(DENSE_RUNS), DENSE_UNKNOWN);
    looks_at_probes(DENSE_RUNS);
}

/* What large ones tell holds for their kind; for one of which nothing was seen what they tell together. */
static void dense_large_ones_by_length(void **state) {
    (void)state;
    size_t all = 0;
    for (enum dense_kind kind = DENSE_RUNS; kind <= DENSE_LARGEST; kind++) {
        assert_int_equal(dense_kind_of_run(units_of(kind)), kind);
        assert_int_equal(dense_kind_of_run(units_of(kind) - 1), kind <= DENSE_LARGE ? DENSE_RUNS : kind - 1);
        dense_count(kind, units_of(kind));
        all += kind >= DENSE_LARGE ? units_of(kind) : 0;
    }
    assert_int_equal(dense_large_units(), all);
    size_t bytes = DENSE_LARGEST_LEAST * UNIT_SIZE;
    dense_tell(DENSE_LARGER, 0, bytes / 2);
    for (enum dense_kind kind = DENSE_LARGE; kind <= DENSE_LARGEST; kind++)
        assert_int_equal(dense_known(kind), DENSE_NO);
    dense_tell(DENSE_LARGEST, bytes, bytes);
    assert_int_equal(dense_known(DENSE_LARGEST), DENSE_YES);
    assert_int_equal(dense_units(false), DENSE_LARGEST_LEAST);
    assert_int_equal(dense_known(DENSE_LARGE), DENSE_NO);
    for (unsigned i = 0; i < 4 * AVERAGED_RUNS; i++)
        dense_tell(DENSE_LARGEST, bytes, bytes);
    assert_int_equal(dense_known(DENSE_LARGE), DENSE_YES);
    assert_int_equal(dense_known(DENSE_LARGER), DENSE_NO);
    assert_int_equal(dense_known(DENSE_RUNS), DENSE_UNKNOWN);
}

/* One in DENSE_WATCHES of all large ones is looked at, and tells of its own kind. */
static void dense_watches_large_ones_together(void **state) {
    (void)state;
    memset(units, 1, DENSE_LARGER_LEAST * UNIT_SIZE);
    dense_watch(DENSE_LARGER, units, DENSE_LARGER_LEAST, false);
    for (unsigned i = 1; i < DENSE_WATCHES; i++)
        dense_watch(DENSE_LARGEST, units, DENSE_LARGEST_LEAST, false);
    assert_int_equal(dense_known(DENSE_LARGER), DENSE_UNKNOWN);
    dense_watch(DENSE_LARGE, units, DENSE_LARGE_LEAST, false);
    assert_int_equal(dense.kinds[DENSE_LARGER].share, LOOK + WHOLE + 1);
    assert_int_equal(dense.kinds[DENSE_LARGE].share, 0);
    assert_int_equal(dense.kinds[DENSE_LARGEST].share, 0);
}

/* Of the longer kinds the first one that is seen to be written whole tells; one that is not, yet, tells nothing. */
static void dense_looks_at_the_first_long_ones(void **state) {
    (void)state;
    for (enum dense_kind kind = DENSE_RUNS; kind <= DENSE_LARGEST; kind++) {
        os_advise(units, UNITS * UNIT_SIZE, OS_DONTNEED);
        dense_watches[DENSE_LARGE].watched = dense.any_large = 0;
        dense_watch(kind, units, units_of(kind), false);
        memset(units, 1, units_of(kind) * UNIT_SIZE / 2);
        for (unsigned i = 1; i < DENSE_WATCHES - 1; i++)
            dense_watch(kind, units, units_of(kind), false);
        assert_int_equal(dense_known(kind), DENSE_UNKNOWN);
        memset(units, 1, units_of(kind) * UNIT_SIZE / 4 * 3);
        dense_watch(kind, units, units_of(kind), false);
        assert_int_equal(dense_known(kind), kind >= DENSE_LARGER ? DENSE_YES : DENSE_UNKNOWN);
    }
}

/* Not the last one, which may be on the way. */
static void dense_looks_at_none_but_the_first(void **state) {
    (void)state;
    unsigned char *second = units + DENSE_LARGER_LEAST * UNIT_SIZE;
    dense_watch(DENSE_LARGER, units, DENSE_LARGER_LEAST, false);
    dense_watch(DENSE_LARGER, second, DENSE_LARGER_LEAST, false);
    memset(units, 1, DENSE_LARGER_LEAST * UNIT_SIZE);
    dense_watch(DENSE_LARGER, second, DENSE_LARGER_LEAST, false);
    assert_int_equal(dense_known(DENSE_LARGER), DENSE_YES);
}

/* It is looked at eight times, and where the system may not be asked not at all. */
static void dense_looks_seldom_at_the_first(void **state) {
    (void)state;
    dense_look_at_first(DENSE_LARGEST, (uintptr_t)units + UNITS);
    for (unsigned i = 0; i < FIRST_LOOKS; i++)
        dense_look_at_first(DENSE_LARGEST, (uintptr_t)units + UNITS);
    memset(units, 1, UNITS * UNIT_SIZE);
    dense_look_at_first(DENSE_LARGEST, (uintptr_t)units + UNITS);
    assert_int_equal(dense_known(DENSE_LARGEST), DENSE_UNKNOWN);
    dense_watches[DENSE_LARGEST].begun = FIRST_LOOKS;
    dense_look_at_first(DENSE_LARGEST, (uintptr_t)units + UNITS);
    assert_int_equal(dense_known(DENSE_LARGEST), os_is_filtered() ? DENSE_UNKNOWN : DENSE_YES);
}

static void dense_guesses_without_samples(void **state) {
    (void)state;
    dense_refuse_samples();
    assert_int_equal(dense_known(DENSE_SHORT), DENSE_YES);
    assert_int_equal(dense_known(DENSE_LONG), DENSE_NO);
    assert_int_equal(dense_known(DENSE_RUNS), DENSE_NO);
    for (enum dense_kind kind = DENSE_LARGE; kind <= DENSE_LARGEST; kind++)
        assert_int_equal(dense_known(kind), DENSE_NO);
    dense_tell(DENSE_LARGE, UNIT_SIZE, UNIT_SIZE);
    assert_int_equal(dense_known(DENSE_LARGE), DENSE_NO);
    look(DENSE_LONG, 4);
    look(DENSE_LONG, 4);
    assert_int_equal(dense_known(DENSE_LONG), DENSE_NO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(dense_small_blocks_surely_are, setup, teardown),
        cmocka_unit_test_setup_teardown(dense_longer_ones_may_be, setup, teardown),
        cmocka_unit_test_setup_teardown(dense_P1_three_quarters_on_average, setup, teardown),
        cmocka_unit_test_setup_teardown(dense_averages_over_what_there_is, setup, teardown),
        cmocka_unit_test_setup_teardown(dense_tells_what_is_sparse, setup, teardown),
        cmocka_unit_test_setup_teardown(dense_looks_seldom, setup, teardown),
        cmocka_unit_test_setup_teardown(dense_looks_at_probes, setup, teardown),
        cmocka_unit_test_setup_teardown(dense_large_ones_by_length, setup, teardown),
        cmocka_unit_test_setup_teardown(dense_watches_large_ones_together, setup, teardown),
        cmocka_unit_test_setup_teardown(dense_looks_at_the_first_long_ones, setup, teardown),
        cmocka_unit_test_setup_teardown(dense_looks_at_none_but_the_first, setup, teardown),
        cmocka_unit_test_setup_teardown(dense_looks_seldom_at_the_first, setup, teardown),
        cmocka_unit_test_setup_teardown(dense_guesses_without_samples, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
