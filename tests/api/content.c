/* What is in a block: kept by realloc in every transition, zero from calloc however dirty the memory was. */
#define _GNU_SOURCE
#include "entry.h"
#include "sizes.h"

#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ERRNO_MARK = 4321 };

static unsigned char pattern(size_t position, size_t seed) {
    return (unsigned char)(position * 131 + (position >> 8) * 17 + seed);
}

static void write_pattern(unsigned char *block, size_t bytes, size_t seed) {
    for (size_t i = 0; i < bytes; i++) {
        block[i] = pattern(i, seed);
    }
}

static void check_pattern(const unsigned char *block, size_t bytes, size_t seed, size_t from, size_t to) {
    for (size_t i = 0; i < bytes; i++) {
        if (block[i] != pattern(i, seed)) {
            fail_msg("realloc from %zu to %zu bytes lost byte %zu", from, to, i);
        }
    }
}

static void realloc_keeps_the_content_in_every_transition(void **state) {
    (void)state;
    for (size_t i = 0; i < sizes_few_count; i++) {
        for (size_t k = 0; k < sizes_few_count; k++) {
            size_t from = sizes_few[i], to = sizes_few[k] == 0 ? 2 : sizes_few[k];
            unsigned char *block = malloc(from);
            assert_non_null(block);
            write_pattern(block, from, i + k);
            errno = ERRNO_MARK;
            block = realloc(block, to);
            assert_non_null(block);
            assert_int_equal(errno, ERRNO_MARK);
            assert_true(entry_usable_size(block) >= to);
            check_pattern(block, from < to ? from : to, i + k, from, to);
            write_pattern(block, to, i);
            free(block);
        }
    }
}

static void realloc_keeps_the_content_of_aligned_blocks(void **state) {
    (void)state;
    for (size_t alignment = 32; alignment <= (size_t)4 << 20; alignment *= 4) {
        for (size_t i = 1; i < sizes_few_count; i++) {
            for (size_t k = 1; k < sizes_few_count; k += 3) {
                size_t from = sizes_few[i], to = sizes_few[k];
                unsigned char *block = aligned_alloc(alignment, from);
                assert_non_null(block);
                write_pattern(block, from < 70000 ? from : 70000, i);
                block = realloc(block, to);
                assert_non_null(block);
                size_t kept = from < to ? from : to;
                check_pattern(block, kept < 70000 ? kept : 70000, i, from, to);
                free(block);
            }
        }
    }
}

/* Grown a little at a time through all kinds of block, and back, as a program that reads a file does. */
static void a_block_grows_and_shrinks(void **state) {
    (void)state;
    unsigned char *block = NULL;
    size_t bytes = 0;
    while (bytes < (size_t)6 << 20) {
        size_t next = bytes + bytes / 3 + 7;
        block = realloc(block, next);
        assert_non_null(block);
        check_pattern(block, bytes, 3, bytes, next);
        write_pattern(block, next, 3);
        bytes = next;
    }
    while (bytes > 10) {
        size_t next = bytes / 3 * 2;
        block = realloc(block, next);
        assert_non_null(block);
        check_pattern(block, next, 3, bytes, next);
        bytes = next;
    }
    free(block);
}

/* A block cut to half or less must not go on holding what it was. */
static void a_shrunk_block_does_not_waste(void **state) {
    (void)state;
    for (size_t i = 0; i < sizes_few_count; i++) {
        for (size_t k = 1; k < sizes_few_count; k++) {
            size_t from = sizes_few[i], to = sizes_few[k];
            if (to > from / 2) {
                continue;
            }
            void *block = realloc(malloc(from), to);
            assert_non_null(block);
            size_t most = to <= SIZES_SMALL_LARGEST ? 2 * to + 128 : to + to / 5 + SIZES_UNIT;
            if (entry_usable_size(block) > most) {
                fail_msg("%zu bytes cut to %zu still hold %zu", from, to, entry_usable_size(block));
            }
            free(block);
        }
    }
}

static void realloc_to_nothing_frees(void **state) {
    (void)state;
    const size_t mib = (size_t)1 << 20;
    size_t before = mallinfo2().arena;
    for (size_t round = 0; round < 100000; round++) {
        volatile size_t nothing = 0;
        void *block = malloc(3000);
        assert_non_null(block);
        errno = ERRNO_MARK;
        assert_null(realloc(block, nothing));
        assert_int_equal(errno, ERRNO_MARK);
    }
    assert_true(mallinfo2().arena < before + 64 * mib); /* 300 MB if nothing was freed */
}

static void calloc_is_zero_after_dirty_use(void **state) {
    (void)state;
    enum { COUNT = 50 };
    static size_t sizes[SIZES_CAPACITY];
    size_t count = sizes_boundaries(sizes);
    for (size_t i = 0; i < count; i++) {
        unsigned char *blocks[COUNT];
        size_t many = sizes[i] > 200000 ? 2 : COUNT;
        for (size_t round = 0; round < 2; round++) {
            for (size_t k = 0; k < many; k++) {
                blocks[k] = calloc(1, sizes[i]);
                assert_non_null(blocks[k]);
                for (size_t byte = 0; byte < sizes[i]; byte++) {
                    if (blocks[k][byte] != 0) {
                        fail_msg("calloc(1, %zu) has %d at %zu", sizes[i], blocks[k][byte], byte);
                    }
                }
                memset(blocks[k], 0xff, entry_usable_size(blocks[k]));
            }
            for (size_t k = 0; k < many; k++) {
                free(blocks[k]);
            }
        }
    }
}

int main(void) {
    const char *missing = entry_find_all();
    if (missing != NULL) {
        print_error("not exported: %s\n", missing);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(realloc_keeps_the_content_in_every_transition),
        cmocka_unit_test(realloc_keeps_the_content_of_aligned_blocks),
        cmocka_unit_test(a_block_grows_and_shrinks),
        cmocka_unit_test(a_shrunk_block_does_not_waste),
        cmocka_unit_test(realloc_to_nothing_frees),
        cmocka_unit_test(calloc_is_zero_after_dirty_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
