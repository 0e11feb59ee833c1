/* glibc's tuning and report functions: what they return, and that their figures are of this heap. Run once on
 * hakmem, and once with HAKMEM_FORCE_LIBC_ALLOC=1, where the same must hold of libc's heap (libc P3). */
#define _GNU_SOURCE
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const size_t mib = (size_t)1 << 20;

static size_t total_live(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void mallinfo_follows_a_large_block(void **state) {
    (void)state;
    size_t before = total_live();
    char *block = malloc(24 * mib);
    assert_non_null(block);
    memset(block, 1, 24 * mib);
    assert_true(total_live() >= before + 24 * mib);
    assert_true(total_live() < before + 48 * mib);
    free(block);
    assert_true(total_live() < before + 24 * mib);
}

static void the_older_mallinfo_agrees(void **state) {
    (void)state;
    struct mallinfo2 wide = mallinfo2();
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    struct mallinfo narrow = mallinfo();
    assert_int_equal(narrow.arena, wide.arena);
    assert_int_equal(narrow.uordblks, wide.uordblks);
    assert_int_equal(narrow.fordblks, wide.fordblks);
}

static void mallopt_accepts(void **state) {
    (void)state;
    assert_int_equal(mallopt(M_MMAP_THRESHOLD, 1 << 20), 1);
    assert_int_equal(mallopt(M_TRIM_THRESHOLD, 1 << 20), 1);
    assert_int_equal(mallopt(M_ARENA_MAX, 2), 1);
}

/* 1 when memory went home, 0 when there was none to give. */
static void malloc_trim_says_whether(void **state) {
    (void)state;
    enum { COUNT = 2000, SIZE = 20000 };
    static char *blocks[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        blocks[i] = malloc(SIZE);
        assert_non_null(blocks[i]);
        memset(blocks[i], 1, SIZE);
    }
    void *last = malloc(SIZE);
    for (size_t i = 0; i < COUNT; i++) {
        free(blocks[i]);
    }
    assert_int_equal(malloc_trim(0), 1);
    if (getenv("HAKMEM_FORCE_LIBC_ALLOC") == NULL) {
        assert_int_equal(malloc_trim(0), 0);
    }
    free(last);
}

static void malloc_stats_prints(void **state) {
    (void)state;
    FILE *captured = tmpfile();
    assert_non_null(captured);
    int before = dup(2);
    assert_true(before >= 0);
    assert_true(dup2(fileno(captured), 2) == 2);
    malloc_stats();
    fflush(stderr);
    assert_true(dup2(before, 2) == 2);
    close(before);
    assert_true(lseek(fileno(captured), 0, SEEK_END) > 0);
    fclose(captured);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mallinfo_follows_a_large_block),
        cmocka_unit_test(the_older_mallinfo_agrees),
        cmocka_unit_test(mallopt_accepts),
        cmocka_unit_test(malloc_trim_says_whether),
        cmocka_unit_test(malloc_stats_prints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
