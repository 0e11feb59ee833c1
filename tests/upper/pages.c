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

static enum pages_density density;

static size_t resident(const void *start, size_t bytes) {
    return pages_resident(start, bytes, &density);
}

static void pages_P1_counts_what_is_in_memory(void **state) {
    (void)state;
    unsigned char *p = os_map(64 * MIB, NULL);
    os_advise(p, 64 * MIB, OS_DONTNEED);
    assert_int_equal(resident(p, 9 * MIB), 0);
    memset(p + MIB, 1, MIB);
    assert_true(resident(p, 9 * MIB) >= MIB);
    memset(p, 1, 64 * MIB);
    assert_int_equal(resident(p, os_page_size()), os_page_size());
    assert_int_equal(resident(p, 9 * MIB), 9 * MIB);
    assert_int_equal(resident(p, 64 * MIB), 64 * MIB);             /* by samples */
    assert_int_equal(resident(p, os_page_size()), os_page_size()); /* whatever was found before */
    assert_true(os_unmap(p, 64 * MIB));
    assert_int_equal(resident(p, 3 * MIB), 3 * MIB); /* not mapped: the system does not say */
    assert_int_equal(errno, 77);
}

/* However long a block is, some of its pages are looked at: not those between the first of four samples and the second. */
static void pages_looks_at_samples_of_a_long_block(void **state) {
    (void)state;
    size_t page = os_page_size(), bytes = 2 * PAGES_COUNTED;
    unsigned char *p = os_map(bytes, NULL);
    for (size_t at = 1024; at < bytes / page / 4; at++)
        p[at * page] = 1;
    assert_int_equal(resident(p, bytes), 0);
    assert_true(resident(p, PAGES_COUNTED) > 0);
    assert_true(os_unmap(p, bytes));
}

/* What was touched counts alone: half of it written from the start on is as dense as all of it. */
static void pages_density_is_of_what_was_touched(void **state) {
    (void)state;
    size_t sizes[] = {2 * MIB, 9 * MIB, 64 * MIB}, page = os_page_size();
    for (unsigned i = 0; i < ARRAY_LENGTH(sizes); i++) {
        unsigned char *p = os_map_aligned(64 * MIB, 2 * MIB, NULL);
        os_advise(p, 64 * MIB, OS_SMALL);
        resident(p, sizes[i]);
        assert_int_equal(density, PAGES_UNTOUCHED);
        for (size_t at = 0; at < sizes[i]; at += 16 * page)
            p[at] = 1;
        resident(p, sizes[i]);
        assert_int_equal(density, PAGES_SPARSE);
        os_advise(p, 64 * MIB, OS_DONTNEED);
        memset(p, 1, align_up(sizes[i] / 2, PAGES_AREA));
        resident(p, sizes[i]);
        assert_int_equal(density, PAGES_DENSE);
        os_advise(p, 64 * MIB, OS_DONTNEED);
        for (size_t at = 0; at < sizes[i]; at += page)
            if (at / page % 4 < 2)
                p[at] = 1;
        resident(p, sizes[i]);
        assert_int_equal(density, PAGES_SPARSE);
        assert_true(os_unmap(p, 64 * MIB));
        resident(p, sizes[i]); /* not mapped: the system does not say */
        assert_int_equal(density, PAGES_UNTOUCHED);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(pages_P1_counts_what_is_in_memory, setup),
        cmocka_unit_test_setup(pages_looks_at_samples_of_a_long_block, setup),
        cmocka_unit_test_setup(pages_density_is_of_what_was_touched, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
