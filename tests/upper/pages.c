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

static void pages_P1_counts_what_is_in_memory(void **state) {
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
        cmocka_unit_test_setup(pages_P1_counts_what_is_in_memory, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
