/* Unit tests of pages, on real memory. */
#include "../../src/pages.h"

#include "kernel.h"
#include "base.h"
#include "os.h"
#include "unit/unit.h"

#include <errno.h>
#include <string.h>

static int setup(void **state) {
    errno = 77;
    return kernel_reset(state);
}

static void pages_move_out_leaves_zeroes(void **state) {
    (void)state;
    unsigned char *from = os_map(2 * MIB, NULL), *target = os_map(2 * MIB, NULL);
    memset(from, 7, 2 * MIB);
    assert_true(pages_move_out(from + MIB / 2, MIB, target));
    assert_int_equal(target[0] + target[MIB - 1], 14);
    assert_int_equal(target[MIB], 0);
    assert_int_equal(from[MIB / 2 - 1] + from[MIB / 2 + MIB], 14);
    assert_int_equal(from[MIB / 2] + from[MIB / 2 + MIB - 1], 0);
    assert_true(os_unmap(from, 2 * MIB) && os_unmap(target, 2 * MIB));
}

static void pages_P1_a_refusal_changes_nothing(void **state) {
    (void)state;
    unsigned char *from = os_map(MIB, NULL), *target = os_map(MIB, NULL);
    uint64_t failed = atomic_load(&os_counts.remap_failed);
    memset(from, 7, MIB);
    kernel.remap.refuse = 1;
    assert_false(pages_move_out(from, MIB, target));
    assert_int_equal(from[0], 7);
    assert_int_equal(target[0], 0);
    assert_int_equal(errno, 77);
    assert_int_equal(atomic_load(&os_counts.remap_failed) - failed, 1);
    assert_true(os_unmap(from, MIB) && os_unmap(target, MIB));
}

static void pages_P2_counts_what_is_in_memory(void **state) {
    (void)state;
    unsigned char *p = os_map(64 * MIB, NULL);
    os_advise(p, 64 * MIB, OS_DONTNEED);
    assert_int_equal(pages_resident(p, 9 * MIB), 0);
    memset(p + MIB, 1, MIB);
    assert_true(pages_resident(p, 9 * MIB) >= MIB);
    memset(p, 1, 64 * MIB);
    assert_int_equal(pages_resident(p, os_page_size()), os_page_size());
    assert_int_equal(pages_resident(p, 9 * MIB), 9 * MIB);
    assert_int_equal(pages_resident(p, 64 * MIB), 64 * MIB); /* by samples */
    assert_true(os_unmap(p, 64 * MIB));
    assert_int_equal(pages_resident(p, 3 * MIB), 3 * MIB); /* not mapped: the system does not say */
    assert_int_equal(errno, 77);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(pages_move_out_leaves_zeroes, setup),
        cmocka_unit_test_setup(pages_P1_a_refusal_changes_nothing, setup),
        cmocka_unit_test_setup(pages_P2_counts_what_is_in_memory, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
