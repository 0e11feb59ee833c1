/* Unit tests of pages, on real memory. */
#include "../../src/pages.h"

#include "kernel.h"
#include "base.h"
#include "os.h"
#include "unit/unit.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* Forks; in the child `ask` is called, which then waits until the parent has asked. Returns whether both got that answer. */
static bool both_answer(bool (*ask)(void *), void *about, bool answer) {
    int told[2], asked[2];
    char byte = 0;
    assert_int_equal(pipe(told) | pipe(asked), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        byte = ask(about) == answer;
        close(asked[1]);
        ssize_t got = write(told[1], &byte, 1);
        got += read(asked[0], &byte, 1);
        _exit((int)got - 1);
    }
    assert_int_equal(read(told[0], &byte, 1), 1);
    bool both = byte && ask(about) == answer;
    close(told[0]), close(told[1]), close(asked[0]), close(asked[1]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    return both;
}

static bool are_own(void *area) {
    return pages_are_own(area, PAGES_AREA);
}

static bool first_is_own(void *area) {
    *(unsigned char *)area = 2;
    return pages_are_own(area, os_page_size());
}

/* What a forked process and the one it comes from have together is neither's own, but for what was written to since. */
static void pages_own_is_what_no_other_process_has(void **state) {
    (void)state;
    unsigned char *p = os_map_aligned(PAGES_AREA, PAGES_AREA, NULL);
    os_advise(p, PAGES_AREA, OS_SMALL);
    assert_true(pages_are_own(p, PAGES_AREA)); /* nothing is in memory */
    memset(p, 1, PAGES_AREA);
    assert_true(pages_are_own(p, PAGES_AREA));
    assert_true(both_answer(are_own, p, false));
    assert_true(pages_are_own(p, PAGES_AREA)); /* the other one is gone */
    assert_true(both_answer(first_is_own, p, true));
    assert_true(os_unmap(p, PAGES_AREA));
    assert_int_equal(errno, 77);
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
        cmocka_unit_test_setup(pages_own_is_what_no_other_process_has, setup),
        cmocka_unit_test_setup(pages_density_is_of_what_was_touched, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
