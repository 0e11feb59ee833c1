/* Unit tests of next: dlsym is renamed by the build to the fake below, which knows an allocator of constants and
 * can miss one of its entries. */
#include "base.h"
#include "next.h"
#include "unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

static struct {
    const char *missing, *there; /* anywhere */
    bool resolving_seen;
    void *freed;
    int stats;
} fake;

static char block[64];

static void *their_malloc(size_t size) {
    return block + size;
}

static void *their_calloc(size_t count, size_t size) {
    return block + count * size;
}

static void *their_realloc(void *old, size_t size) {
    return (char *)old + size;
}

static void their_free(void *old) {
    fake.freed = old;
}

static size_t their_usable_size(void *old) {
    return (size_t)((char *)old - block);
}

static int their_mallopt(int parameter, int value) {
    return parameter + value;
}

static struct next_info their_mallinfo2(void) {
    return (struct next_info){.arena = 42};
}

static void their_malloc_stats(void) {
    fake.stats++;
}

static int their_trim(size_t pad) {
    return (int)pad + 1;
}

/* Allocates as dlsym may: what it would reach asks next_resolving(). */
void *fake_dlsym(void *restrict handle, const char *restrict name) {
    static const struct {
        const char *name;
        void (*entry)(void);
    } entries[] = {{"malloc", (void (*)(void))their_malloc},
                   {"calloc", (void (*)(void))their_calloc},
                   {"realloc", (void (*)(void))their_realloc},
                   {"free", (void (*)(void))their_free},
                   {"memalign", (void (*)(void))their_calloc},
                   {"malloc_usable_size", (void (*)(void))their_usable_size},
                   {"malloc_trim", (void (*)(void))their_trim},
                   {"mallopt", (void (*)(void))their_mallopt},
                   {"mallinfo2", (void (*)(void))their_mallinfo2},
                   {"malloc_stats", (void (*)(void))their_malloc_stats}};
    void *found = NULL;
    if (handle == RTLD_DEFAULT)
        return fake.there && strcmp(fake.there, name) == 0 ? block : NULL;
    assert_ptr_equal(handle, RTLD_NEXT);
    fake.resolving_seen = next_resolving();
    errno = ENOENT;
    for (size_t i = 0; i < ARRAY_LENGTH(entries); i++)
        if (strcmp(entries[i].name, name) == 0 && (fake.missing == NULL || strcmp(fake.missing, name) != 0))
            memcpy(&found, &entries[i].entry, sizeof found);
    return found;
}

static int setup(void **state) {
    (void)state;
    memset(&fake, 0, sizeof fake);
    return 0;
}

static void next_passes_every_call_on(void **state) {
    (void)state;
    assert_true(next_resolve());
    assert_ptr_equal(next_malloc(3), block + 3);
    assert_ptr_equal(next_calloc(2, 5), block + 10);
    assert_ptr_equal(next_realloc(block, 7), block + 7);
    assert_ptr_equal(next_aligned(4, 4), block + 16);
    assert_int_equal(next_usable_size(block + 9), 9);
    next_free(block + 1);
    assert_ptr_equal(fake.freed, block + 1);
    assert_int_equal(next_trim(1), 2);
    assert_int_equal(next_mallopt(2, 3), 5);
    assert_int_equal(next_mallinfo2().arena, 42);
    next_malloc_stats();
    assert_int_equal(fake.stats, 1);
}

static void next_P1_resolving_is_told_and_errno_kept(void **state) {
    (void)state;
    errno = 77;
    assert_false(next_resolving());
    assert_true(next_resolve());
    assert_true(fake.resolving_seen);
    assert_false(next_resolving());
    assert_int_equal(errno, 77);
}

static void next_symbols_are_found_and_errno_kept(void **state) {
    (void)state;
    errno = 77;
    assert_ptr_equal(next_symbol("free"), (void *)(uintptr_t)their_free);
    assert_null(next_symbol("pthread_create"));
    assert_false(next_is_sanitized());
    fake.there = "__asan_init";
    assert_true(next_is_sanitized());
    fake.there = "__tsan_init";
    assert_true(next_is_sanitized());
    fake.there = "__ubsan_init";
    assert_false(next_is_sanitized());
    assert_int_equal(errno, 77);
}

static void next_P2_a_missing_basic_entry_is_refused(void **state) {
    static const char *const basic[] = {"malloc", "calloc",   "realloc",
                                        "free",   "memalign", "malloc_usable_size"};
    for (size_t i = 0; i < ARRAY_LENGTH(basic); i++) {
        setup(state);
        fake.missing = basic[i];
        assert_false(next_resolve());
        assert_false(next_resolving());
    }
}

static void next_P3_a_missing_optional_entry_answers_nothing(void **state) {
    (void)state;
    fake.missing = "malloc_trim";
    assert_true(next_resolve());
    assert_int_equal(next_trim(1), 0);
    fake.missing = "mallopt";
    assert_true(next_resolve());
    assert_int_equal(next_mallopt(2, 3), 0);
    fake.missing = "mallinfo2";
    assert_true(next_resolve());
    assert_int_equal(next_mallinfo2().arena, 0);
    fake.missing = "malloc_stats";
    assert_true(next_resolve());
    next_malloc_stats();
    assert_int_equal(fake.stats, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(next_passes_every_call_on, setup),
        cmocka_unit_test_setup(next_P1_resolving_is_told_and_errno_kept, setup),
        cmocka_unit_test_setup(next_symbols_are_found_and_errno_kept, setup),
        cmocka_unit_test_setup(next_P2_a_missing_basic_entry_is_refused, setup),
        cmocka_unit_test_setup(next_P3_a_missing_optional_entry_answers_nothing, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
