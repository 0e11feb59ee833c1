/* Unit tests of spare: random programs against a list. The room's .c is included, so that its bins can be looked into. */
#include "../../src/spare.c"

#include "kernel.h"
#include "random.h"
#include "unit/unit.h"

enum { RECORDS = 400 };

static struct large records[RECORDS];
static bool waits[RECORDS];
static struct superslab home;

static size_t random_size(uint64_t *seed) {
    size_t units = 1 + random_below(seed, random_below(seed, 2) ? 40 : 5000);
    return units * UNIT_SIZE;
}

/* P2: the sums, and every filled bin and only those. */
static void check_sums(void) {
    size_t resident = 0, runs = 0, mappings = 0;
    uint64_t filled[SPARE_WORDS] = {0};
    for (unsigned i = 0; i < RECORDS; i++) {
        if (!waits[i])
            continue;
        resident += records[i].resident;
        *(records[i].home ? &runs : &mappings) += records[i].extent;
        filled[spare_bin(records[i].extent) / 64] |= 1ULL << spare_bin(records[i].extent) % 64;
    }
    assert_int_equal(spare_resident_bytes(), resident);
    assert_int_equal(spare_run_bytes(), runs);
    assert_int_equal(spare_mapping_bytes(), mappings);
    for (unsigned word = 0; word < SPARE_WORDS; word++)
        assert_int_equal(spares.filled[word], filled[word]);
}

static void put_random(uint64_t *seed) {
    unsigned i = random_below(seed, RECORDS);
    if (waits[i])
        return;
    size_t extent = random_size(seed);
    bool run = extent <= SUPERSLAB_RUN_LARGEST * (size_t)UNIT_SIZE && random_below(seed, 2);
    records[i] = (struct large){.extent = extent, .resident = random_below(seed, (unsigned)extent)};
    records[i].start =
        (unsigned char *)(((uintptr_t)i + 1) << 30) + random_below(seed, 4) * (size_t)UNIT_SIZE;
    records[i].home = run ? &home : NULL;
    records[i].solid = !run && random_below(seed, 2);
    waits[i] = true;
    spare_put(&records[i]);
}

static bool is_good(const struct large *large, size_t bytes, size_t most, size_t alignment,
                    enum spare_kind kind) {
    return large->extent >= bytes && spare_bin(large->extent) <= spare_bin(most) &&
           ((uintptr_t)large->start & (alignment - 1)) == 0 && !(kind != SPARE_ANY && large->home) &&
           !(kind == SPARE_TORN && large->solid);
}

static void take_random(uint64_t *seed) {
    size_t bytes = spare_round(random_size(seed)), most = bytes + bytes / (1 + random_below(seed, 8));
    size_t alignment = (size_t)UNIT_SIZE << random_below(seed, 2);
    enum spare_kind kind = (enum spare_kind)random_below(seed, 3);
    struct large *taken = spare_take(bytes, most, alignment, kind);
    if (taken) {
        assert_true(waits[taken - records]);
        assert_true(is_good(taken, bytes, most, alignment, kind));
        waits[taken - records] = false;
    }
    for (unsigned i = 0; i < RECORDS && (!taken || alignment == UNIT_SIZE); i++)
        if (waits[i] && is_good(&records[i], bytes, most, UNIT_SIZE, SPARE_ANY) && alignment == UNIT_SIZE &&
            kind == SPARE_ANY) {
            assert_non_null(taken);
            assert_true(spare_bin(records[i].extent) >= spare_bin(taken->extent)); /* the smallest */
        }
}

static void remove_oldest(void) {
    struct large *oldest = spare_oldest();
    if (!oldest)
        return;
    spare_remove(oldest);
    waits[oldest - records] = false;
}

static void spare_P1_P2_random_program(void **state) {
    (void)state;
    uint64_t seed = 5;
    for (int step = 0; step < 20000; step++) {
        unsigned what = random_below(&seed, 100);
        if (what < 50)
            put_random(&seed);
        else if (what < 95)
            take_random(&seed);
        else
            remove_oldest();
        if (step % 16 == 0)
            check_sums();
    }
    while (spare_oldest())
        remove_oldest();
    check_sums();
}

static void spare_rounds_to_the_begin_of_a_bin(void **state) {
    (void)state;
    for (size_t units = 1; units < (size_t)1 << 46; units += 1 + units / 7) {
        size_t bytes = units << UNIT_SHIFT, rounded = spare_round(bytes);
        assert_true(rounded >= bytes && rounded <= bytes + bytes / 16);
        assert_int_equal(spare_round(rounded), rounded);
        assert_true(spare_bin(rounded) < BINS);
        assert_int_equal(spare_bin(rounded - UNIT_SIZE), spare_bin(rounded) - 1);
    }
}

static void spare_oldest_goes_first_and_newest_out(void **state) {
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        records[i] = (struct large){.extent = 40 * (size_t)UNIT_SIZE,
                                    .start = (unsigned char *)((uintptr_t)(i + 1) << 30)};
        spare_put(&records[i]);
    }
    assert_ptr_equal(spare_oldest(), &records[0]);
    assert_ptr_equal(spare_take(records[0].extent, records[0].extent, UNIT_SIZE, SPARE_MAPPING), &records[2]);
    spare_remove(&records[0]);
    assert_ptr_equal(spare_oldest(), &records[1]);
    spare_remove(&records[1]);
    assert_null(spare_oldest());
}

/* However many wait in a bin, one call looks at some of them. */
static void spare_P3_looks_are_bounded(void **state) {
    (void)state;
    enum { SIZE = 40 * UNIT_SIZE };
    for (uintptr_t i = 0; i <= SPARE_LOOKS; i++) {
        uintptr_t start = ((i + 1) << 30) + (i > 0 ? UNIT_SIZE : 0); /* the first one alone is aligned */
        records[i] = (struct large){.extent = SIZE, .start = (unsigned char *)start};
        spare_put(&records[i]);
    }
    assert_null(spare_take(SIZE, SIZE, 2 * UNIT_SIZE, SPARE_MAPPING));
    spare_remove(&records[SPARE_LOOKS]);
    assert_ptr_equal(spare_take(SIZE, SIZE, 2 * UNIT_SIZE, SPARE_MAPPING), &records[0]);
    for (unsigned i = 1; i < SPARE_LOOKS; i++)
        spare_remove(&records[i]);
    assert_null(spare_oldest());
}

/* One that is too short for a request may be stretched, unless it is very much too short. */
static void spare_shorter_is_not_too_short(void **state) {
    (void)state;
    enum { SIZE = 40 * UNIT_SIZE };
    records[0] = (struct large){.extent = SIZE, .start = (unsigned char *)GIB};
    spare_put(&records[0]);
    assert_null(spare_take_shorter(4 * SIZE, 2 * SIZE));
    assert_null(spare_take_shorter(SIZE, UNIT_SIZE));
    assert_ptr_equal(spare_take_shorter(2 * SIZE, SIZE), &records[0]);
    assert_null(spare_oldest());
}

/* Nor what consists of whole huge pages, which are not torn. */
static void spare_solid_is_not_torn(void **state) {
    (void)state;
    enum { SIZE = 64 * UNIT_SIZE };
    for (uintptr_t i = 0; i < 2; i++) {
        records[i] =
            (struct large){.extent = SIZE, .start = (unsigned char *)((i + 1) << 30), .solid = i == 1};
        spare_put(&records[i]);
    }
    assert_ptr_equal(spare_take_shorter(2 * SIZE, SIZE), &records[0]);
    assert_null(spare_take_shorter(2 * SIZE, SIZE));
    assert_null(spare_take(SIZE, SIZE, UNIT_SIZE, SPARE_TORN));
    assert_ptr_equal(spare_take(SIZE, SIZE, UNIT_SIZE, SPARE_MAPPING), &records[1]);
    assert_null(spare_oldest());
}

/* The least that waited between two looks: what came back in between was wanted. */
static void spare_rests_what_nobody_took(void **state) {
    (void)state;
    enum { SIZE = 40 * UNIT_SIZE }; /* whatever was in memory when that was measured */
    for (unsigned i = 0; i < 2; i++) {
        records[i] = (struct large){.extent = SIZE, .resident = 4096 * i};
        spare_put(&records[i]);
    }
    spare_rested_bytes();
    assert_int_equal(spare_rested_bytes(), 2 * SIZE);
    spare_remove(&records[1]);
    spare_put(&records[1]);
    assert_int_equal(spare_rested_bytes(), SIZE);
    assert_int_equal(spare_rested_bytes(), 2 * SIZE);
    spare_remove(&records[0]);
    spare_remove(&records[1]);
    assert_int_equal(spare_rested_bytes(), 0);
}

static void spare_P3_stacks_are_bounded(void **state) {
    (void)state;
    struct spare_recent recent = {.filled = 0};
    struct large blocks[SPARE_RECENT + 1] = {{.extent = 0}};
    for (unsigned i = 0; i <= SPARE_RECENT; i++) {
        blocks[i] = (struct large){.extent = (1 + i % 7) * (size_t)UNIT_SIZE, .resident = 4096};
        assert_int_equal(spare_recent_put(&recent, &blocks[i], GIB, GIB), i < SPARE_RECENT);
    }
    for (unsigned i = SPARE_RECENT; i > 0; i--)
        assert_non_null(spare_recent_take(&recent, UNIT_SIZE, MIB));
    assert_null(spare_recent_take(&recent, UNIT_SIZE, MIB));
    assert_int_equal(recent.resident + recent.bytes + recent.filled + recent.count, 0);
    for (unsigned i = 0; i < 3; i++) { /* 1, 2, 3 units, as last measured */
        blocks[i].resident = blocks[i].extent;
        assert_int_equal(spare_recent_put(&recent, &blocks[i], 6 * UNIT_SIZE, GIB), i < 2);
    }
    recent = (struct spare_recent){.filled = 0};
    for (unsigned i = 0; i < 5; i++) { /* 1, 2, 3, 4, 5 units */
        blocks[i].resident = 0;
        assert_int_equal(spare_recent_put(&recent, &blocks[i], GIB, 11 * (size_t)UNIT_SIZE), i < 4);
    }
    struct large huge = {.extent = GIB};
    assert_false(spare_recent_put(&recent, &huge, 4 * GIB, 4 * GIB));
}

static void spare_P1_stacks_hand_out_what_fits(void **state) {
    (void)state;
    struct spare_recent recent = {.filled = 0};
    struct large blocks[4];
    static const unsigned units[4] = {4, 5, 5, 40};
    for (unsigned i = 0; i < 4; i++) {
        blocks[i] = (struct large){.extent = units[i] * (size_t)UNIT_SIZE};
        assert_true(spare_recent_put(&recent, &blocks[i], GIB, GIB));
    }
    assert_null(spare_recent_take(&recent, 6 * UNIT_SIZE, 39 * UNIT_SIZE));
    assert_ptr_equal(spare_recent_take(&recent, 5 * UNIT_SIZE, 6 * UNIT_SIZE), &blocks[2]); /* the newest */
    assert_ptr_equal(spare_recent_take(&recent, 4 * UNIT_SIZE, 6 * UNIT_SIZE), &blocks[0]); /* the smallest */
    assert_ptr_equal(spare_recent_take(&recent, 4 * UNIT_SIZE, 6 * UNIT_SIZE), &blocks[1]);
    assert_null(spare_recent_take(&recent, UNIT_SIZE, 36 * UNIT_SIZE));
    assert_ptr_equal(spare_recent_take(&recent, 38 * UNIT_SIZE, 41 * UNIT_SIZE), &blocks[3]);
    assert_null(spare_recent_take(&recent, GIB, 2 * GIB));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spare_P1_P2_random_program),
        cmocka_unit_test(spare_rounds_to_the_begin_of_a_bin),
        cmocka_unit_test(spare_oldest_goes_first_and_newest_out),
        cmocka_unit_test(spare_P3_looks_are_bounded),
        cmocka_unit_test(spare_shorter_is_not_too_short),
        cmocka_unit_test(spare_solid_is_not_torn),
        cmocka_unit_test(spare_rests_what_nobody_took),
        cmocka_unit_test(spare_P3_stacks_are_bounded),
        cmocka_unit_test(spare_P1_stacks_hand_out_what_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
