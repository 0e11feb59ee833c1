/* Unit tests of dense, on real memory. */
#include "../../src/dense.c"

#include "kernel.h"
#include "unit/unit.h"

#include <string.h>

static unsigned char *units;

enum { UNITS = 4 };

static int setup(void **state) {
    kernel_reset(state);
    memset(&dense, 0, sizeof dense);
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

/* Watches as many as it takes to look once, at units of which `quarters` were written. */
static void look(enum dense_kind kind, unsigned quarters) {
    os_advise(units, UNITS * UNIT_SIZE, OS_DONTNEED);
    memset(units, 1, quarters * (size_t)(UNITS * UNIT_SIZE / 4));
    for (unsigned i = 0; i < DENSE_WATCHES; i++)
        dense_watch(kind, units, UNITS, false);
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
        dense_count(kind, 7);
        assert_int_equal(dense_known(kind), DENSE_UNKNOWN);
        assert_int_equal(dense_units(false), 0);
        assert_int_equal(dense_units(true), 7);
        look(kind, 4);
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
    look(DENSE_LONG, 4);
    look(DENSE_LONG, 4);
    assert_int_equal(dense_known(DENSE_LONG), DENSE_YES);
    for (int i = 0; i < 20; i++)
        look(DENSE_LONG, 2);
    assert_int_equal(dense_known(DENSE_LONG), DENSE_NO);
    assert_int_equal(dense_known(DENSE_RUNS), DENSE_UNKNOWN);
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
    dense_watch(kind, units, UNITS, false);
    dense_watch(kind, units, UNITS, true);
    assert_int_equal(dense_known(kind), DENSE_YES);
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
    dense_count(DENSE_LARGE, UNITS);
    assert_int_equal(dense_units_of(DENSE_LARGE), UNITS);
    assert_int_equal(dense_units_of(DENSE_RUNS), 0);
    assert_int_equal(dense_known(DENSE_RUNS), DENSE_UNKNOWN);
    looks_at_probes(DENSE_RUNS);
}

static void dense_guesses_without_samples(void **state) {
    (void)state;
    dense_refuse_samples();
    assert_int_equal(dense_known(DENSE_SHORT), DENSE_YES);
    assert_int_equal(dense_known(DENSE_LONG), DENSE_NO);
    assert_int_equal(dense_known(DENSE_RUNS), DENSE_NO);
    assert_int_equal(dense_known(DENSE_LARGE), DENSE_NO);
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
        cmocka_unit_test_setup_teardown(dense_looks_seldom, setup, teardown),
        cmocka_unit_test_setup_teardown(dense_looks_at_probes, setup, teardown),
        cmocka_unit_test_setup_teardown(dense_guesses_without_samples, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
