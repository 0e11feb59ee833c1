/* The prefixed interface, used as include/hakmem.h documents it, in a program linked against the library. */
#include "hakmem.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void one_heap_with_malloc(void **state) {
    (void)state;
    for (size_t size = 0; size < 200000; size = size * 3 + 1) {
        void *block = hakmem_malloc(size);
        assert_non_null(block);
        assert_true(hakmem_usable_size(block) >= size);
        free(block);
        block = malloc(size);
        assert_true(hakmem_usable_size(block) >= size);
        hakmem_free(block);
    }
    assert_int_equal(hakmem_usable_size(NULL), 0);
}

static void wrong_arguments(void **state) {
    (void)state;
    volatile size_t three = 3, huge = SIZE_MAX;
    void *block = &state;
    errno = 0;
    assert_null(hakmem_aligned_alloc(three, 100));
    assert_int_equal(errno, EINVAL);
    errno = 0;
    assert_int_equal(hakmem_posix_memalign(&block, three, 100), EINVAL);
    assert_ptr_equal(block, &state);
    assert_int_equal(errno, 0);
    assert_null(hakmem_calloc(huge, three));
    assert_int_equal(errno, ENOMEM);
    errno = 0;
    assert_null(hakmem_reallocarray(NULL, huge, three));
    assert_int_equal(errno, ENOMEM);
}

static void version_and_variant(void **state) {
    (void)state;
    assert_string_equal(hakmem_version(), HAKMEM_VERSION_STRING);
    assert_string_equal(hakmem_variant(), getenv("TESTED_VARIANT"));
}

static void statistics_add_up(void **state) {
    (void)state;
    struct hakmem_statistics before, after;
    const size_t bytes = (size_t)24 << 20;
    assert_int_equal(hakmem_stats(&before, sizeof before), sizeof before);
    char *block = hakmem_malloc(bytes);
    assert_non_null(block);
    assert_int_equal(hakmem_stats(&after, sizeof after), sizeof after);
    assert_true(after.live_bytes >= before.live_bytes + bytes);
    assert_true(after.live_bytes < before.live_bytes + 2 * bytes);
    assert_true(after.mapped_bytes == after.live_bytes + after.free_bytes);
    assert_true(after.metadata_bytes > 0);
    hakmem_free(block);
    assert_int_equal(hakmem_stats(&after, sizeof after), sizeof after);
    assert_true(after.live_bytes < before.live_bytes + bytes);
}

/* An older program passes less, a newer one more. */
static void statistics_of_other_versions(void **state) {
    (void)state;
    struct {
        struct hakmem_statistics known;
        uint64_t newer[4];
    } statistics;
    memset(&statistics, 0xff, sizeof statistics);
    assert_int_equal(hakmem_stats(&statistics.known, sizeof(uint64_t)), sizeof statistics.known);
    assert_true(statistics.known.mapped_bytes != UINT64_MAX);
    assert_true(statistics.known.live_bytes == UINT64_MAX);
    assert_int_equal(hakmem_stats(&statistics.known, sizeof statistics), sizeof statistics.known);
    assert_true(statistics.known.metadata_bytes != UINT64_MAX);
    assert_true(statistics.newer[0] == 0 && statistics.newer[3] == 0);
}

/* Many blocks, written and freed, and then handed back: after a purge a second one finds nothing. */
static void purge_gives_memory_back(void **state) {
    (void)state;
    enum { COUNT = 2000, SIZE = 20000 };
    static void *blocks[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        blocks[i] = hakmem_malloc(SIZE);
        assert_non_null(blocks[i]);
        memset(blocks[i], 1, SIZE);
    }
    (void)hakmem_purge();
    for (size_t i = 0; i < COUNT; i++) {
        hakmem_free(blocks[i]);
    }
    assert_true(hakmem_purge() >= (size_t)COUNT * SIZE / 2);
    assert_int_equal(hakmem_purge(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_heap_with_malloc),         cmocka_unit_test(wrong_arguments),
        cmocka_unit_test(version_and_variant),          cmocka_unit_test(statistics_add_up),
        cmocka_unit_test(statistics_of_other_versions), cmocka_unit_test(purge_gives_memory_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
