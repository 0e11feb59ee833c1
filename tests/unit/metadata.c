/* Unit tests of metadata: chunks come from a static arena that can run dry. The room's .c is included, because
 * each test starts from the state that a new process has. */
#include "../../src/metadata.c"

#include "unit.h"

#include <string.h>

static ALIGNED(4096) unsigned char arena[16 * MIB];

static struct {
    size_t used;
    size_t largest; /* no request above this is served */
    size_t longest; /* of those that were */
    int maps;
    int held;
} fake;

void *os_map(size_t bytes, void *hint) {
    (void)hint;
    fake.maps++;
    if (bytes > fake.largest || bytes > sizeof arena - fake.used)
        return NULL;
    fake.used += bytes;
    fake.longest = bytes > fake.longest ? bytes : fake.longest;
    return arena + fake.used - bytes;
}

void os_name(void *address, size_t bytes, enum os_use use) {
    assert_ptr_equal(address, arena + fake.used - bytes);
    assert_int_equal(use, OS_RECORDS);
}

bool lock_take(struct lock *lock) {
    assert_ptr_equal(lock, &metadata_lock);
    fake.held++;
    return false;
}

void lock_release(struct lock *lock) {
    assert_ptr_equal(lock, &metadata_lock);
    fake.held--;
}

_Noreturn void base_assert_failed(const char *promise, const char *expression, const char *file, int line) {
    (void)expression;
    (void)line;
    fail_msg("%s in %s", promise, file);
    __builtin_unreachable();
}

static int setup(void **state) {
    (void)state;
    memset(&fake, 0, sizeof fake);
    fake.largest = SIZE_MAX;
    memset(arena, 0, sizeof arena);
    memset(&metadata_state, 0, sizeof metadata_state);
    return 0;
}

static void metadata_P1_records_are_zeroed_aligned_and_apart(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 64, 256, 100, 512, 4096, 65, 70000, 2560, 8};
    for (size_t i = 0; i < 400; i++) {
        size_t bytes = sizes[i % ARRAY_LENGTH(sizes)];
        unsigned char *record = metadata_new(bytes);
        assert_non_null(record);
        assert_int_equal((uintptr_t)record % (bytes % 256 == 0 ? 256 : 64), 0);
        for (size_t j = 0; j < bytes; j++)
            if (record[j] != 0)
                fail_msg("byte %zu of record %zu is in use", j, i);
        memset(record, 0xff, bytes);
    }
    assert_int_equal(fake.held, 0);
}

static void metadata_a_small_program_maps_nothing(void **state) {
    (void)state;
    for (int i = 0; i < 256; i++)
        assert_non_null(metadata_new(256));
    assert_int_equal(fake.maps, 0);
    assert_int_equal(metadata_bytes(), 64 * KIB);
    assert_non_null(metadata_new(64));
    assert_int_equal(fake.maps, 1);
}

static void metadata_chunks_grow_up_to_4_MiB(void **state) {
    (void)state;
    for (size_t i = 0; i < 12 * MIB / 4096; i++)
        assert_non_null(metadata_new(4096));
    assert_in_range(fake.maps, 1, 9);
    assert_int_equal(fake.longest, 4 * MIB);
}

static void metadata_P2_no_memory_is_null_and_passes(void **state) {
    (void)state;
    fake.largest = 0;
    while (metadata_new(4096) != NULL)
        continue;
    assert_null(metadata_new(4096));
    uint64_t bytes = metadata_bytes();
    fake.largest = 64 * KIB;
    assert_non_null(metadata_new(4096));
    assert_int_equal(metadata_bytes(), bytes + 4096);
    assert_int_equal(fake.held, 0);
}

static void metadata_P2_sizes_that_no_system_has(void **state) {
    (void)state;
    assert_null(metadata_new(SIZE_MAX));
    assert_null(metadata_new(SIZE_MAX / 2 + 1));
    assert_null(metadata_new(SIZE_MAX / 2));
    assert_int_equal(metadata_bytes(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(metadata_P1_records_are_zeroed_aligned_and_apart, setup),
        cmocka_unit_test_setup(metadata_a_small_program_maps_nothing, setup),
        cmocka_unit_test_setup(metadata_chunks_grow_up_to_4_MiB, setup),
        cmocka_unit_test_setup(metadata_P2_no_memory_is_null_and_passes, setup),
        cmocka_unit_test_setup(metadata_P2_sizes_that_no_system_has, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
