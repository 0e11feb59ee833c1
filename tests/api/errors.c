/* What must fail: with which error, through which entry point, and with what left untouched. */
#define _GNU_SOURCE
#include "entry.h"
#include "sizes.h"

#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Arguments pass through here so that the compiler cannot see, and warn, that they are wrong. */
static size_t hidden(size_t value) {
    volatile size_t copy = value;
    return copy;
}

static void impossible_sizes_are_enomem(void **state) {
    (void)state;
    for (size_t e = 0; e < entry_count; e++) {
        if (entry_throws(&entries[e])) {
            continue;
        }
        for (size_t i = 0; i < sizes_impossible_count; i++) {
            for (size_t alignment = 16; alignment <= (size_t)1 << 26; alignment <<= 10) {
                errno = 0;
                void *block = entry_allocate(&entries[e], alignment, sizes_impossible[i]);
                if (block != NULL || (errno != ENOMEM && entries[e].kind != ENTRY_NEW_NOTHROW &&
                                      entries[e].kind != ENTRY_NEW_ALIGNED_NOTHROW)) {
                    fail_msg("%s(%zu, %zu) = %p, errno %d", entries[e].name, alignment, sizes_impossible[i],
                             block, errno);
                }
            }
        }
    }
}

/* api P2 */
static void overflowing_products_are_enomem(void **state) {
    (void)state;
    static const size_t factors[][2] = {
        {SIZE_MAX, 2},
        {2, SIZE_MAX},
        {SIZE_MAX / 2 + 1, 2},
        {(size_t)1 << 32, (size_t)1 << 32},
        {SIZE_MAX, SIZE_MAX},
        {SIZE_MAX / 3 + 2, 3},
        {(size_t)1 << 33, (size_t)1 << 31},
    };
    char *volatile block =
        malloc(100); /* volatile: a compiler that believes in success warns of what follows */
    assert_non_null(block);
    memset(block, 'x', 100);
    for (size_t i = 0; i < sizeof factors / sizeof factors[0]; i++) {
        size_t count = hidden(factors[i][0]), size = hidden(factors[i][1]);
        errno = 0;
        assert_null(calloc(count, size));
        assert_int_equal(errno, ENOMEM);
        errno = 0;
        assert_null(reallocarray(block, count, size));
        assert_int_equal(errno, ENOMEM);
    }
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(block[i], 'x');
    }
    free(block);
}

static void products_with_zero_are_blocks(void **state) {
    (void)state;
    void *first = calloc(hidden(0), hidden(SIZE_MAX));
    void *second = calloc(hidden(SIZE_MAX), hidden(0));
    assert_non_null(first);
    assert_non_null(second);
    assert_ptr_not_equal(first, second);
    free(first);
    free(second);
}

/* alloc P3 */
static void a_failing_realloc_keeps_the_block(void **state) {
    (void)state;
    for (size_t i = 1; i < sizes_few_count; i++) {
        unsigned char *block = malloc(sizes_few[i]);
        assert_non_null(block);
        block[0] = 17;
        block[sizes_few[i] - 1] = 18 - (sizes_few[i] == 1);
        for (size_t k = 0; k < sizes_impossible_count; k++) {
            errno = 0;
            assert_null(realloc(block, hidden(sizes_impossible[k])));
            assert_int_equal(errno, ENOMEM);
        }
        assert_int_equal(block[0], 17);
        assert_int_equal(block[sizes_few[i] - 1], 18 - (sizes_few[i] == 1));
        free(block);
    }
}

/* Not a power of two, in the ways that matter. */
static const size_t crooked[] = {0, 3, 6, 12, 24, 48, 100, 4095, 4097, 3 << 20, SIZE_MAX, SIZE_MAX - 1};

/* api P1 */
static void crooked_alignments_of_aligned_alloc(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof crooked / sizeof crooked[0]; i++) {
        errno = 0;
        assert_null(aligned_alloc(hidden(crooked[i]), hidden(64)));
        assert_int_equal(errno, EINVAL);
    }
}

/* api P3 */
static void crooked_alignments_of_posix_memalign(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof crooked / sizeof crooked[0] + 3; i++) {
        static const size_t small[] = {1, 2, 4};
        size_t count = sizeof crooked / sizeof crooked[0];
        size_t alignment = i < count ? crooked[i] : small[i - count];
        void *block = &state;
        errno = 77;
        assert_int_equal(posix_memalign(&block, hidden(alignment), hidden(64)), EINVAL);
        assert_int_equal(errno, 77);
        assert_ptr_equal(block, &state);
    }
    void *block = &state;
    errno = 77;
    assert_int_equal(posix_memalign(&block, 16, hidden(SIZE_MAX - 100)), ENOMEM);
    assert_int_equal(errno, 77);
    assert_ptr_equal(block, &state);
}

/* libc P2: memalign takes the next power of two, and refuses only what has none. */
static void crooked_alignments_of_memalign(void **state) {
    (void)state;
    static const struct {
        size_t asked, meant;
    } rows[] = {
        {0, 1}, {3, 4}, {5, 8}, {6, 8}, {24, 32}, {100, 128}, {4095, 4096}, {4097, 8192}, {3 << 20, 4 << 20}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t size = 0; size < 40; size++) {
            char *block = memalign(hidden(rows[i].asked), size);
            assert_non_null(block);
            assert_int_equal((uintptr_t)block % rows[i].meant, 0);
            memset(block, 1, size);
            free(block);
        }
    }
    static const size_t hopeless[] = {SIZE_MAX, SIZE_MAX / 2 + 2, SIZE_MAX - 1};
    for (size_t i = 0; i < sizeof hopeless / sizeof hopeless[0]; i++) {
        errno = 0;
        assert_null(memalign(hidden(hopeless[i]), 64));
        assert_int_equal(errno, EINVAL);
    }
}

static void malloc_info_has_no_flags(void **state) {
    (void)state;
    char text[4096] = "";
    FILE *stream = fmemopen(text, sizeof text, "w");
    assert_non_null(stream);
    assert_int_equal(malloc_info(1, stream), EINVAL);
    assert_int_equal(malloc_info(0, stream), 0);
    fclose(stream);
    assert_memory_equal(text, "<malloc version=\"1\">\n", 21);
    assert_non_null(strstr(text, "</malloc>\n"));
}

int main(void) {
    const char *missing = entry_find_all();
    if (missing != NULL) {
        print_error("not exported: %s\n", missing);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impossible_sizes_are_enomem),
        cmocka_unit_test(overflowing_products_are_enomem),
        cmocka_unit_test(products_with_zero_are_blocks),
        cmocka_unit_test(a_failing_realloc_keeps_the_block),
        cmocka_unit_test(crooked_alignments_of_aligned_alloc),
        cmocka_unit_test(crooked_alignments_of_posix_memalign),
        cmocka_unit_test(crooked_alignments_of_memalign),
        cmocka_unit_test(malloc_info_has_no_flags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
