/* Unit test of alloc when another allocator is to serve (HAKMEM_FORCE_LIBC_ALLOC): every call goes to libc's. */
#include "alloc.h"

#include "lifecycle.h"

#include "unit/unit.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static const size_t sizes[] = {1, 100, 32768, 32769, 3000000};

/* A block of libc's: hakmem does not know it. */
static void *check_theirs(void *block, size_t size) {
    assert_non_null(block);
    assert_int_equal(pagemap_tag(block), PAGEMAP_NONE);
    assert_true(malloc_usable_size(block) >= size);
    assert_int_equal(alloc_usable_size(block), malloc_usable_size(block));
    memset(block, 0x66, size);
    return block;
}

static void alloc_forced_serves_nothing_itself(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *block = check_theirs(alloc_malloc(sizes[i]), sizes[i]);
        block = check_theirs(alloc_realloc(block, 2 * sizes[i]), 2 * sizes[i]);
        alloc_free(block);
        alloc_free(check_theirs(alloc_aligned(256, sizes[i]), sizes[i]));
        unsigned char *zeros = alloc_calloc(2, sizes[i]);
        assert_int_equal(zeros[0] | zeros[2 * sizes[i] - 1], 0);
        alloc_free(check_theirs(zeros, 2 * sizes[i]));
    }
    alloc_free(NULL);
    assert_true(lifecycle_forced());
    assert_ptr_equal(heap_current.heap, &heap_none);
    assert_int_equal(alloc_usable_size(NULL), 0);
    assert_null(alloc_calloc(SIZE_MAX, 2));
    assert_int_equal(errno, ENOMEM);
}

/* libc's blocks are not of whole granules: behind one of 24 bytes begins what libc knows of the next. */
static void alloc_forced_calloc_clears_no_more(void **state) {
    (void)state;
    for (size_t size = 1; size <= 200; size++) {
        void *blocks[8];
        size_t usable[8];
        for (unsigned i = 0; i < 8; i++) {
            blocks[i] = i % 2 ? alloc_calloc(1, size) : alloc_malloc(size);
            usable[i] = malloc_usable_size(blocks[i]);
        }
        for (unsigned round = 0; round < 8; round++) {
            alloc_free(blocks[round]);
            blocks[round] = alloc_calloc(1, size);
            for (unsigned i = 0; i < 8; i++)
                assert_int_equal(malloc_usable_size(blocks[i]), usable[i]);
        }
        for (unsigned i = 0; i < 8; i++)
            alloc_free(blocks[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(alloc_forced_serves_nothing_itself),
                                       cmocka_unit_test(alloc_forced_calloc_clears_no_more)};
    setenv("HAKMEM_FORCE_LIBC_ALLOC", "1", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
