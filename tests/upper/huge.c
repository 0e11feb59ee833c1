/* Unit tests of huge, on real memory. The room's .c is included, because each test begins knowing nothing. */
#include "../../src/huge.c"

#include "kernel.h"
#include "unit/unit.h"

#include <string.h>
#include <sys/prctl.h>

#define BLOCK (8 * MIB)

static unsigned char *block;

/* Small pages, whatever the kernel does unasked. */
static int setup(void **state) {
    kernel_reset(state);
    block = os_map_aligned(BLOCK, HUGE_LEAST, NULL);
    os_advise(block, BLOCK, OS_SMALL);
    memset(huges.sizes, 0, sizeof huges.sizes);
    huge_configure(true);
    limit_configure(SIZE_MAX, 0, 0);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    return os_unmap(block, BLOCK) ? 0 : -1;
}

static void write_here_and_there(void) {
    for (size_t at = 0; at < BLOCK; at += 64 * KIB)
        block[at] = 1;
}

static void huge_P1_nothing_is_known_at_first(void **state) {
    (void)state;
    assert_false(huge_wants(BLOCK));
    huge_watch(block, BLOCK);
    assert_false(huge_wants(BLOCK)); /* untouched yet */
    memset(block, 1, BLOCK);
    assert_true(huge_wants(BLOCK));
    assert_false(huge_wants(HUGE_LEAST - 64 * KIB));
}

static void huge_P1_a_sparse_block_says_no(void **state) {
    (void)state;
    huge_watch(block, BLOCK);
    write_here_and_there();
    assert_false(huge_wants(BLOCK));
    assert_false(huge_look(block, BLOCK));
    huge_learn(NULL, BLOCK, PAGES_DENSE);
    assert_true(huge_wants(BLOCK));
    assert_false(huge_look(block, BLOCK)); /* the last word */
    assert_false(huge_wants(BLOCK));
    huge_learn(NULL, BLOCK, PAGES_DENSE);
    huge_learn(NULL, BLOCK, PAGES_UNTOUCHED); /* says nothing */
    assert_true(huge_wants(BLOCK));
}

static void huge_looks_at_blocks_that_tell(void **state) {
    (void)state;
    memset(block, 1, HUGE_TELLS);
    assert_false(huge_look(block, HUGE_TELLS - 64 * KIB));
    assert_true(huge_look(block, HUGE_TELLS));
    huge_learn(NULL, HUGE_TELLS, PAGES_SPARSE);
    huge_watch(block, HUGE_TELLS); /* nobody knows what lies behind it */
    assert_true(huge_wants(HUGE_TELLS));
}

/* What doubles has its first half first: of one that lives no more than that is looked at. */
static void huge_looks_at_the_first_half(void **state) {
    (void)state;
    huge_watch(block, HUGE_LEAST);
    memset(block, 1, HUGE_TELLS / 2);
    assert_false(huge_wants(HUGE_LEAST));
    memset(block, 1, HUGE_TELLS);
    assert_true(huge_wants(2 * HUGE_LEAST - 64 * KIB));
    huge_watch(block, 2 * HUGE_LEAST);
    assert_false(huge_wants(2 * HUGE_LEAST));
    memset(block, 1, HUGE_LEAST);
    assert_true(huge_wants(2 * HUGE_LEAST));
}

/* What is known without a look. */
static void huge_knows_three_states(void **state) {
    (void)state;
    memset(block, 1, BLOCK);
    huge_watch(block, BLOCK);
    assert_int_equal(huge_known(BLOCK), HUGE_UNKNOWN);
    assert_true(huge_suits(BLOCK));
    assert_int_equal(huge_known(BLOCK), HUGE_WHOLE);
    huge_learn(NULL, BLOCK, PAGES_SPARSE);
    assert_int_equal(huge_known(BLOCK), HUGE_SPARSE);
    assert_int_equal(huge_known(2 * BLOCK), HUGE_UNKNOWN);
}

/* A probe that is not freed tells when the next one comes. */
static void huge_P2_probes_tell_while_they_live(void **state) {
    (void)state;
    huge_learn(NULL, BLOCK, PAGES_DENSE);
    huge_watch(block, BLOCK);
    write_here_and_there();
    while (!huge_probe_is_due(BLOCK))
        assert_true(huge_wants(BLOCK));
    assert_false(huge_wants(BLOCK));
    assert_int_equal(huge_known(BLOCK), HUGE_SPARSE);
    assert_false(huge_wants(BLOCK));
}

static void huge_P1_one_size_tells_nothing_of_another(void **state) {
    (void)state;
    unsigned char *sparse = os_map_aligned(2 * BLOCK, HUGE_LEAST, NULL);
    os_advise(sparse, 2 * BLOCK, OS_SMALL);
    huge_watch(sparse, 2 * BLOCK);
    huge_watch(block, BLOCK);
    memset(block, 1, BLOCK);
    sparse[0] = sparse[BLOCK] = 1;
    assert_true(huge_wants(BLOCK));
    assert_false(huge_wants(2 * BLOCK));
    assert_false(huge_look(sparse, 2 * BLOCK)); /* nor does it say no to the others */
    assert_true(huge_look(block, BLOCK));
    assert_true(huge_wants(BLOCK));
    assert_false(huge_wants(2 * BLOCK));
    huge_learn(NULL, BLOCK, PAGES_SPARSE);
    huge_learn(NULL, 2 * BLOCK, PAGES_DENSE);
    assert_false(huge_wants(BLOCK));
    assert_true(huge_wants(2 * BLOCK));
    huge_watch(block, BLOCK);
    huge_watch(NULL, 2 * BLOCK);
    assert_ptr_equal(huge_size_of(BLOCK)->watched, block);
    assert_true(os_unmap(sparse, 2 * BLOCK));
}

/* The first of a size where those of half of it are written whole. Of nothing else follows anything. */
static void huge_P1_a_size_follows_the_one_of_half_of_it(void **state) {
    (void)state;
    assert_false(huge_follows(BLOCK));
    huge_learn(NULL, BLOCK / 2, PAGES_DENSE);
    assert_true(huge_follows(BLOCK) && huge_follows(2 * BLOCK - 64 * KIB));
    assert_false(huge_follows(BLOCK / 2) || huge_follows(2 * BLOCK));
    assert_false(huge_wants(BLOCK) || huge_suits(BLOCK));
    assert_int_equal(huge_known(BLOCK), HUGE_UNKNOWN);
    huge_watch(block, BLOCK); /* another one is to tell */
    assert_false(huge_follows(BLOCK));
    huge_watch(NULL, BLOCK);
    huge_configure(false);
    assert_false(huge_follows(BLOCK));
    huge_configure(true);
    huge_learn(NULL, BLOCK, PAGES_SPARSE);
    assert_false(huge_follows(BLOCK));
    huge_learn(NULL, HUGE_TELLS, PAGES_DENSE);
    assert_false(huge_follows(2 * HUGE_TELLS)); /* no huge page fits in beside a head */
    huge_learn(NULL, BLOCK / 2, PAGES_SPARSE);
    assert_false(huge_follows(2 * BLOCK));
}

/* Also where the shorter one lives, and has told nothing until it is looked at. */
static void huge_follows_what_is_watched(void **state) {
    (void)state;
    huge_watch(block, BLOCK);
    assert_false(huge_follows(2 * BLOCK));
    memset(block, 1, BLOCK);
    assert_true(huge_follows(2 * BLOCK));
}

/* What is behind a head is in huge pages, and says nothing. */
static void huge_heads_tell(void **state) {
    (void)state;
    unsigned char *head = block + HUGE_LEAST - HUGE_HEAD;
    huge_watch(head, BLOCK);
    memset(block + HUGE_LEAST, 1, HUGE_LEAST);
    assert_false(huge_wants(BLOCK));
    memset(head, 1, HUGE_HEAD);
    assert_true(huge_wants(BLOCK));
    huge_learn(NULL, BLOCK, PAGES_SPARSE);
    huge_watch(block + HUGE_LEAST, BLOCK); /* that is none */
    assert_true(huge_suits(BLOCK));
}

/* It is looked at when its block goes, wherever in it it is; but nobody else's. */
static void huge_heads_tell_when_their_blocks_go(void **state) {
    (void)state;
    unsigned char *head = block + HUGE_LEAST - HUGE_HEAD;
    huge_watch(head, BLOCK);
    head[0] = 1;
    huge_leave(head - BLOCK, BLOCK);
    huge_leave(head + 1, BLOCK);
    huge_leave(block, BLOCK / 2);
    assert_int_equal(huge_known(BLOCK), HUGE_UNKNOWN);
    assert_ptr_equal(huge_size_of(BLOCK)->watched, head);
    huge_leave(block, BLOCK);
    assert_int_equal(huge_known(BLOCK), HUGE_SPARSE);
    assert_null(huge_size_of(BLOCK)->watched);
    huge_leave(block, BLOCK); /* nothing is watched */
    assert_int_equal(huge_known(BLOCK), HUGE_SPARSE);
    memset(head, 1, HUGE_HEAD);
    huge_watch(head, BLOCK);
    huge_leave(head, BLOCK);
    assert_int_equal(huge_known(BLOCK), HUGE_WHOLE);
}

static uint64_t asked(void) {
    return os_counts.huge + os_counts.huge_failed;
}

/* What is awaited is looked at until it goes, or is another one, or a child's. */
static void huge_P3_asks_for_nothing_that_is_forgotten(void **state) {
    (void)state;
    if (os_huge_pages() != OS_HUGE_ASKED)
        skip();
    uint64_t before = asked();
    memset(block, 1, MIB);
    huge_await(block, BLOCK);
    huge_forget(block, BLOCK);
    assert_false(huge_look_ahead());
    assert_int_equal(huge_known(BLOCK), HUGE_UNKNOWN);
    huge_await(block, BLOCK);
    huge_in_child();
    assert_false(huge_look_ahead());
    assert_int_equal(huge_known(BLOCK), HUGE_UNKNOWN);
    assert_int_equal(asked(), before);
    huge_is_awaited = false;
    huge_await(block, BLOCK);
    assert_true(huge_is_awaited);
    huge_forget(block + MIB, BLOCK);
    assert_false(huge_look_ahead());
    assert_int_equal(huge_known(BLOCK), HUGE_WHOLE);
    assert_int_equal(asked(), before + 1);
    assert_false(huge_look_ahead());
    assert_int_equal(asked(), before + 1);
    os_advise(block, BLOCK, OS_SMALL);
}

static void huge_awaits_what_is_long_and_unknown(void **state) {
    (void)state;
    huge_is_awaited = false;
    huge_await(block, BLOCK - 64 * KIB);
    assert_int_equal(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0); /* there are none */
    huge_await(block, BLOCK);
    assert_int_equal(prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0), 0);
    assert_false(huge_is_awaited);
    huge_learn(NULL, BLOCK, PAGES_SPARSE);
    huge_await(block, BLOCK);
    huge_configure(false);
    huge_await(block, 2 * BLOCK);
    assert_false(huge_is_awaited || huge_look_ahead());
}

static void huge_a_size_is_a_doubling(void **state) {
    (void)state;
    assert_ptr_equal(huge_size_of(HUGE_TELLS), huges.sizes);
    assert_ptr_equal(huge_size_of(2 * HUGE_TELLS - 1), huges.sizes);
    assert_ptr_equal(huge_size_of(2 * HUGE_TELLS), huges.sizes + 1);
    assert_ptr_equal(huge_size_of(HUGE_TELLS - 1), huges.sizes);
    assert_ptr_equal(huge_size_of(0), huges.sizes);
    assert_ptr_equal(huge_size_of(HUGE_TELLS << (HUGE_SIZES - 1)), huges.sizes + HUGE_SIZES - 1);
    assert_ptr_equal(huge_size_of(SIZE_MAX), huges.sizes + HUGE_SIZES - 1);
}

/* One that is gone meanwhile is no sign of anything. */
static void huge_watches_what_may_go(void **state) {
    (void)state;
    unsigned char *other = os_map_aligned(BLOCK, HUGE_LEAST, NULL);
    memset(other, 1, BLOCK);
    huge_watch(other, BLOCK);
    assert_true(os_unmap(other, BLOCK));
    assert_false(huge_wants(BLOCK));
}

/* Nor one whose block is gone: it waits, and the next one there may be of another size. */
static void huge_watches_no_block_that_has_gone(void **state) {
    (void)state;
    huge_watch(block, BLOCK);
    huge_learn(block + HUGE_LEAST, BLOCK, PAGES_UNTOUCHED);
    assert_ptr_equal(huge_size_of(BLOCK)->watched, block);
    huge_learn(block, BLOCK, PAGES_UNTOUCHED);
    memset(block, 1, BLOCK);
    assert_false(huge_wants(BLOCK));
    assert_false(huge_suits(BLOCK));
    huge_watch(block, BLOCK);
    assert_true(huge_suits(BLOCK));
}

static void huge_P2_some_are_probes(void **state) {
    (void)state;
    unsigned wanted = 0;
    huge_learn(NULL, BLOCK, PAGES_DENSE);
    for (unsigned i = 0; i < 4 * HUGE_PROBE; i++)
        wanted += huge_wants(BLOCK);
    assert_int_equal(wanted, 4 * (HUGE_PROBE - 1));
}

static void huge_is_not_asked_for_where_it_may_not(void **state) {
    (void)state;
    huge_learn(NULL, BLOCK, PAGES_DENSE);
    limit.tight = true; /* P5 of limit */
    assert_false(huge_wants(BLOCK));
    assert_false(huge_ask(block, BLOCK));
    limit.tight = false;
    assert_true(huge_wants(BLOCK));
    limit_configure(SIZE_MAX, 16 * MIB, 0);
    assert_true(huge_follows(2 * BLOCK));
    limit_hold(15 * MIB);
    assert_false(huge_wants(BLOCK)); /* near the soft limit */
    assert_false(huge_follows(2 * BLOCK));
    limit_give(15 * MIB);
    assert_true(huge_wants(BLOCK));
    huge_configure(false);
    assert_false(huge_wants(BLOCK));
    memset(block, 1, BLOCK);
    huge_watch(block, BLOCK);
    assert_null(huge_size_of(BLOCK)->watched);
    assert_false(huge_look(block, BLOCK));
}

static void huge_ask_says_what_the_kernel_says(void **state) {
    (void)state;
    kernel.advise.refuse = 1;
    assert_false(huge_ask(block, BLOCK));
    bool heard = huge_ask(block, BLOCK); /* not where the kernel has none */
    assert_int_equal(huge_ask(block, BLOCK), heard);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(huge_P1_nothing_is_known_at_first, setup, teardown),
        cmocka_unit_test_setup_teardown(huge_P1_a_sparse_block_says_no, setup, teardown),
        cmocka_unit_test_setup_teardown(huge_P1_one_size_tells_nothing_of_another, setup, teardown),
        cmocka_unit_test_setup_teardown(huge_P1_a_size_follows_the_one_of_half_of_it, setup, teardown),
        cmocka_unit_test_setup_teardown(huge_follows_what_is_watched, setup, teardown),
        cmocka_unit_test_setup_teardown(huge_heads_tell, setup, teardown),
        cmocka_unit_test_setup_teardown(huge_heads_tell_when_their_blocks_go, setup, teardown),
        cmocka_unit_test_setup_teardown(huge_P3_asks_for_nothing_that_is_forgotten, setup, teardown),
        cmocka_unit_test_setup_teardown(huge_awaits_what_is_long_and_unknown, setup, teardown),
        cmocka_unit_test_setup_teardown(huge_a_size_is_a_doubling, setup, teardown),
        cmocka_unit_test_setup_teardown(huge_looks_at_blocks_that_tell, setup, teardown),
        cmocka_unit_test_setup_teardown(huge_looks_at_the_first_half, setup, teardown),
        cmocka_unit_test_setup_teardown(huge_knows_three_states, setup, teardown),
        cmocka_unit_test_setup_teardown(huge_P2_probes_tell_while_they_live, setup, teardown),
        cmocka_unit_test_setup_teardown(huge_watches_what_may_go, setup, teardown),
        cmocka_unit_test_setup_teardown(huge_watches_no_block_that_has_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(huge_P2_some_are_probes, setup, teardown),
        cmocka_unit_test_setup_teardown(huge_is_not_asked_for_where_it_may_not, setup, teardown),
        cmocka_unit_test_setup_teardown(huge_ask_says_what_the_kernel_says, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
