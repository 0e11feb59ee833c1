/* Unit tests of the room sample: what is noted down, what is forgotten, and what happens when there is no room. */
#include "../../src/sample.c"

#include "kernel.h"
#include "unit/unit.h"

#include <pthread.h>
#include <stdlib.h>

enum { BLOCKS = 4096 };
static unsigned char blocks[BLOCKS][16];
static struct poisson countdown;
static uintptr_t stack[SAMPLE_DEPTH + OWN_CALLERS]; /* what the next sample finds */
static int depth;
static _Atomic unsigned unwound;

int fake_backtrace(void **addresses, int most) {
    int count = depth < most ? depth : most;
    unwound++;
    for (int i = 0; i < count; i++)
        addresses[i] = (void *)stack[i];
    errno = EINVAL; /* it may */
    return count;
}

static void called_from(uintptr_t inner, uintptr_t outer) {
    stack[0] = inner;
    stack[1] = outer;
    depth = 2;
}

static int setup(void **state) {
    kernel_reset(state);
    memset(&sample_state, 0, sizeof sample_state);
    sample_filter = NULL;
    sample_state.lock = (struct lock)LOCK_INITIAL(10);
    assert_true(sample_configure(1));
    called_from(0x5000, 0x6000);
    sample_prepare();
    sample_state.walk = NULL; /* no unwinder but ours, also where sanitizers bring libgcc's along */
    sample_state.own_from = 0x1000, sample_state.own_to = 0x2000;
    countdown = (struct poisson){0};
    errno = 0;
    return 0;
}

static void took(unsigned block, size_t bytes) {
    sample_took(&countdown, blocks[block], bytes, (void *)0x5000);
}

static unsigned count_sites(void) {
    unsigned count = 0;
    for (const struct sample_site *site = sample_state.newest; site; site = site->older)
        count++;
    assert_int_equal(count, sample_state.site_count);
    return count;
}

static void check_site(const struct sample_site *site, uint64_t taken, uint64_t taken_bytes, uint64_t live,
                       uint64_t live_bytes) {
    assert_int_equal(site->taken, taken);
    assert_int_equal(site->taken_bytes, taken_bytes);
    assert_int_equal(site->live, live);
    assert_int_equal(site->live_bytes, live_bytes);
}

static void sample_P1_live_ones_are_those_not_gone(void **state) {
    (void)state;
    for (unsigned i = 0; i < 10; i++)
        took(i, 100);
    const struct sample_site *site = sample_state.newest;
    check_site(site, 10, 1000, 10, 1000);
    assert_int_equal(count_sites(), 1);
    for (unsigned i = 0; i < 10; i += 2)
        sample_gone(blocks[i]);
    check_site(site, 10, 1000, 5, 500);
    sample_gone(blocks[0]); /* a second time: it is not live */
    sample_gone(blocks[BLOCKS - 1]);
    check_site(site, 10, 1000, 5, 500);
    took(0, 100); /* the address again */
    check_site(site, 11, 1100, 6, 600);
    assert_int_equal(errno, 0);
}

static void sample_P1_what_is_set_aside_is_live_until_it_went(void **state) {
    (void)state;
    took(0, 100);
    const struct sample_site *site = sample_state.newest;
    struct sample_live *aside = sample_set_aside(blocks[0]);
    assert_non_null(aside);
    assert_null(sample_set_aside(blocks[0]));
    assert_null(sample_set_aside(blocks[1]));
    check_site(site, 1, 100, 1, 100);
    took(0, 110); /* another block of this address comes and goes */
    check_site(site, 2, 210, 2, 210);
    sample_gone(blocks[0]);
    check_site(site, 2, 210, 1, 100);
    sample_settle(aside, false);
    check_site(site, 2, 210, 1, 100);
    aside = sample_set_aside(blocks[0]);
    sample_settle(aside, true);
    check_site(site, 2, 210, 0, 0);
    sample_settle(NULL, true);
    sample_gone(blocks[0]);
    for (unsigned i = 0; i < FILTER; i++)
        assert_int_equal(sample_state.tables->filter[i], 0);
}

/* Many of them, in an order that shuffles chains and filter; each count of the filter is that of the live ones again. */
static void sample_P1_many_come_and_go(void **state) {
    (void)state;
    static bool live[BLOCKS];
    unsigned count = 0;
    srandom(1);
    for (unsigned i = 0; i < 40 * BLOCKS; i++) {
        unsigned block = (unsigned)random() % BLOCKS;
        if (live[block])
            sample_gone(blocks[block]);
        else
            took(block, 64);
        live[block] = !live[block];
        count += live[block] ? 1u : -1u;
    }
    assert_int_equal(sample_state.newest->live, count);
    unsigned filtered = 0;
    for (unsigned i = 0; i < FILTER; i++)
        filtered += sample_state.tables->filter[i];
    assert_int_equal(filtered, count);
    for (unsigned i = 0; i < BLOCKS; i++)
        sample_gone(blocks[i]);
    assert_int_equal(sample_state.newest->live, 0);
    for (unsigned i = 0; i < FILTER; i++)
        assert_int_equal(sample_state.tables->filter[i], 0);
    memset(live, 0, sizeof live);
}

static void sample_P2_a_site_for_each_stack_and_size(void **state) {
    (void)state;
    took(0, 100);
    took(1, 110); /* less than a quarter of an octave more */
    assert_int_equal(count_sites(), 1);
    took(2, 130);
    assert_int_equal(count_sites(), 2);
    called_from(0x5000, 0x6008);
    took(3, 100);
    assert_int_equal(count_sites(), 3);
    depth = 1;
    took(4, 100);
    assert_int_equal(count_sites(), 4);
    took(5, 0);
    took(6, 1);
    took(7, PTRDIFF_MAX);
    assert_int_equal(count_sites(), 7);
    assert_int_equal(sample_state.newest->callers[0], 0x5000);
}

static void sample_callers_are_the_programs(void **state) {
    (void)state;
    static const uintptr_t found[] = {0x1000, 0x1fff, 0x2000, 0x1800, 0x7000};
    memcpy(stack, found, sizeof found);
    depth = ARRAY_LENGTH(found);
    took(0, 16);
    const struct sample_site *site = sample_state.newest;
    assert_int_equal(site->depth, 3); /* but the innermost that are the library's */
    assert_memory_equal(site->callers, &found[2], 3 * sizeof found[0]);
    for (unsigned i = 0; i < ARRAY_LENGTH(stack); i++)
        stack[i] = 0x9000 + i;
    depth = ARRAY_LENGTH(stack);
    took(1, 16);
    assert_int_equal(sample_state.newest->depth, SAMPLE_DEPTH);
    assert_int_equal(sample_state.newest->callers[SAMPLE_DEPTH - 1], 0x9000 + SAMPLE_DEPTH - 1);
    depth = 0; /* nothing can be unwound */
    took(2, 16);
    assert_int_equal(sample_state.newest->depth, 0);
}

static void sample_P3_without_memory_samples_are_lost(void **state) {
    (void)state;
    took(0, 16);
    kernel.map.refuse = ALWAYS;
    unsigned block = 1;
    while (sample_state.lost == 0 && block < BLOCKS) { /* until what there is for records is used up */
        stack[1] = 0x10000 + block;
        depth = SAMPLE_DEPTH;
        took(block++, 16);
    }
    assert_int_equal(sample_state.lost, 1);
    assert_int_equal(errno, 0);
    sample_gone(blocks[block - 1]); /* was not noted */
    kernel.map.refuse = 0;
    took(block, 16);
    assert_int_equal(sample_state.lost, 1);
    for (unsigned i = 0; i <= block; i++)
        sample_gone(blocks[i]);
    for (const struct sample_site *site = sample_state.newest; site; site = site->older)
        assert_int_equal(site->live, 0);
}

static void sample_P3_stacks_are_bounded(void **state) {
    (void)state;
    for (unsigned i = 0; i <= SITES_MOST; i++) {
        stack[0] = 0x100000 + i;
        took(0, 16);
        sample_gone(blocks[0]);
    }
    assert_int_equal(count_sites(), SITES_MOST + 1);
    assert_int_equal(sample_state.newest->depth, 0); /* all that came after */
    stack[0]++;
    took(0, 16);
    check_site(sample_state.newest, 2, 32, 1, 16);
    assert_int_equal(sample_state.lost, 0);
}

static void sample_nothing_before_it_is_prepared(void **state) {
    (void)state;
    atomic_store(&sample_state.stage, SAMPLE_UNPREPARED);
    assert_false(sample_is_prepared());
    unwound = 0;
    took(0, 16);
    assert_int_equal(unwound, 0);
    assert_null(sample_state.newest);
    sample_prepare();
    sample_prepare();
    assert_int_equal(unwound, 1);
    took(0, 16);
    assert_int_equal(count_sites(), 1);
}

/* Only that it was the unwinder is known. */
static void sample_does_not_unwind_from_the_unwinder(void **state) {
    (void)state;
    sample_state.unwinder_from = 0x3000, sample_state.unwinder_to = 0x4000;
    unwound = 0;
    sample_took(&countdown, blocks[0], 16, (void *)0x3000);
    sample_took(&countdown, blocks[1], 16, (void *)0x3fff);
    assert_int_equal(unwound, 0);
    assert_int_equal(sample_state.newest->depth, 1);
    assert_int_equal(sample_state.newest->callers[0], 0x3fff);
    sample_took(&countdown, blocks[2], 16, (void *)0x4000);
    assert_int_equal(unwound, 1);
}

/* It would look for its library each time, from wherever the program allocates. Who called is known without. */
static void sample_asks_no_more_where_nothing_unwinds(void **state) {
    (void)state;
    atomic_store(&sample_state.stage, SAMPLE_UNPREPARED);
    depth = 0;
    sample_prepare();
    unwound = 0;
    depth = 2;
    took(0, 16);
    took(1, 16);
    assert_int_equal(unwound, 0);
    assert_int_equal(sample_state.newest->depth, 1);
    assert_int_equal(sample_state.newest->callers[0], 0x5000);
    check_site(sample_state.newest, 2, 32, 2, 32);
}

static void sample_nothing_where_nobody_asks(void **state) {
    (void)state;
    memset(&sample_state, 0, sizeof sample_state);
    sample_filter = NULL;
    assert_true(sample_configure(0));
    sample_prepare();
    took(0, 16);
    sample_gone(blocks[0]);
    assert_null(sample_state.newest);
}

static void *take_and_give(void *first) {
    struct poisson mine = {0};
    unsigned char(*own)[16] = first;
    for (unsigned round = 0; round < 200; round++) {
        for (unsigned i = 0; i < BLOCKS / 4; i++)
            sample_took(&mine, own[i], 48, (void *)0x5000);
        for (unsigned i = 0; i < BLOCKS / 4; i++)
            sample_gone(own[i]);
    }
    return NULL;
}

static void sample_threads_together(void **state) {
    (void)state;
    pthread_t threads[4];
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, blocks[i * BLOCKS / 4]), 0);
    for (unsigned i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(count_sites(), 1);
    check_site(sample_state.newest, 200 * BLOCKS, 200 * BLOCKS * 48, 0, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(sample_P1_live_ones_are_those_not_gone, setup),
        cmocka_unit_test_setup(sample_P1_what_is_set_aside_is_live_until_it_went, setup),
        cmocka_unit_test_setup(sample_P1_many_come_and_go, setup),
        cmocka_unit_test_setup(sample_P2_a_site_for_each_stack_and_size, setup),
        cmocka_unit_test_setup(sample_callers_are_the_programs, setup),
        cmocka_unit_test_setup(sample_P3_without_memory_samples_are_lost, setup),
        cmocka_unit_test_setup(sample_P3_stacks_are_bounded, setup),
        cmocka_unit_test_setup(sample_nothing_before_it_is_prepared, setup),
        cmocka_unit_test_setup(sample_does_not_unwind_from_the_unwinder, setup),
        cmocka_unit_test_setup(sample_asks_no_more_where_nothing_unwinds, setup),
        cmocka_unit_test_setup(sample_nothing_where_nobody_asks, setup),
        cmocka_unit_test_setup(sample_threads_together, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
