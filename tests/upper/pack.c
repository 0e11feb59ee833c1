/* Unit tests of pack: what one heap may put by, alone and beside others. */
#include "pack.h"

#include "unit/unit.h"

static struct packs packs;

enum {
    MANY = 1 << 20,
    SMALL = 384 << 10 /* bytes of a class that is small */,
    PACKS = 4096,
    HALF = PACKS / 2,
    WAVES = 3641 /* eight ninths: of what all may be put by */
};

/* Puts packs of `class` by until no more may be, where the heap has `out` blocks of it. Returns how many. */
static unsigned fill_with(unsigned class, bool deep, unsigned heaps, unsigned out) {
    unsigned count = 0;
    for (struct pack *pack; (pack = pack_new(&packs, class, deep, heaps, out)) != NULL; count++)
        pack_put(&packs, class, pack, deep ? PACK_DEEP_BLOCKS : PACK_BLOCKS);
    return count;
}

static unsigned fill_of(unsigned class, unsigned heaps, unsigned out) {
    return fill_with(class, false, heaps, out);
}

static unsigned fill(unsigned class, unsigned heaps) {
    return fill_of(class, heaps, MANY);
}

static void empty(void) {
    for (unsigned class = 0; class < SIZECLASS_COUNT; class ++)
        for (struct pack *pack; (pack = pack_take(&packs, class)) != NULL;)
            pack_drop(&packs, pack, pack_is_deep(pack));
    assert_int_equal(packs.count, 0);
    assert_int_equal(packs.bytes, 0);
}

static void pack_P1_one_heap_has_its_bounds(void **state) {
    (void)state;
    pack_configure(SIZE_MAX);
    unsigned all = 0;
    for (unsigned class = 0; class < SIZECLASS_COUNT; class ++) {
        unsigned more = fill(class, 1);
        assert_true(more <= 32);
        all += more;
    }
    assert_int_equal(packs.count, all);
    assert_true(all <= PACKS && packs.bytes <= 8 << 20);
    assert_int_equal(packs.of[0].count, 32);
    empty();
}

/* All that there is of a small class, up to half of all packs, and no more than that of others. */
static void pack_P1_of_a_small_class_there_may_be_more(void **state) {
    (void)state;
    pack_configure(SIZE_MAX);
    for (unsigned class = 0; class < SIZECLASS_COUNT; class ++) {
        unsigned small = SMALL / sizeclass_table[class].size;
        size_t fit = 8 * MIB / (PACK_BLOCKS * sizeclass_table[class].size);
        assert_int_equal(fill_of(class, 1, small), fit < HALF ? fit : HALF);
        assert_null(pack_new(&packs, class, false, 1, 1));
        empty();
        assert_in_range(fill_of(class, 1, small + 1), 1, 32);
        empty();
    }
}

/* Where it is said that all may be: if it has room, twice as much in a heap by itself as in several together. */
static void pack_P1_all_of_a_class_may_have_room(void **state) {
    (void)state;
    static const struct { unsigned heaps, packs; } room[] = {{1, WAVES}, {2, 911}};
    pack_configure(32 * MIB);
    for (unsigned i = 0; i < 2; i++) {
        unsigned most = room[i].packs * PACK_BLOCKS;
        assert_in_range(most * sizeclass_table[3].size, SMALL + 1, 8 * MIB / room[i].heaps);
        assert_true(pack_has_room(3, room[i].heaps, most));
        assert_false(pack_has_room(3, room[i].heaps, most + PACK_BLOCKS));
        assert_int_equal(fill_of(3, room[i].heaps, 0), room[i].packs);
        empty();
    }
    assert_true(pack_has_room(sizeclass_of(1024), 1, 8 * KIB));
    assert_false(pack_has_room(sizeclass_of(1024), 1, 8 * KIB + 1));
    assert_true(pack_has_room(sizeclass_aligned(4 * KIB, 4 * KIB), 8, 1024));
    assert_false(pack_has_room(sizeclass_aligned(4 * KIB, 4 * KIB), 8, 1025));
}

/* A ninth stays for others, who find what they found before as long as that lasts. */
static void pack_P1_waves_leave_a_ninth_to_others(void **state) {
    (void)state;
    pack_configure(SIZE_MAX);
    assert_int_equal(fill_of(0, 1, 0), WAVES);
    for (unsigned class = 1; class < 15; class ++)
        assert_int_equal(fill_of(class, 1, MANY), 32);
    assert_int_equal(fill_of(15, 1, MANY), PACKS - WAVES - 14 * 32);
    assert_int_equal(packs.count, PACKS);
    empty();
}

/* However many small classes there are, others find what they found before; and heaps share the half as they share all. */
static void pack_P1_small_classes_leave_half_to_others(void **state) {
    (void)state;
    pack_configure(SIZE_MAX);
    assert_int_equal(fill_of(0, 1, 1), HALF);
    for (unsigned class = 1; class < 20; class ++)
        assert_int_equal(fill_of(class, 1, 1), 32);
    empty();
    assert_int_equal(fill_of(0, 1, 1), HALF);
    packs.count = PACKS - 31; /* of many classes: 8 MiB are not so many */
    assert_int_equal(fill_of(1, 1, 1), 31);
    packs.count -= PACKS - 31 - HALF;
    empty();
    pack_configure(8 * MIB);
    assert_int_equal(fill_of(0, 4, 1), 64);
    assert_int_equal(fill_of(1, 4, 1), 32);
    empty();
}

static void pack_P2_heaps_share_what_is_configured(void **state) {
    (void)state;
    static const struct {
        size_t bytes;
        unsigned heaps, packs; /* of 1,024 bytes a block */
    } rows[] = {{0, 1, 0}, {30 << 10, 1, 1}, {300 << 10, 1, 10}, {300 << 10, 10, 1}, {300 << 10, 11, 0}};
    unsigned class = sizeclass_of(1024);
    assert_int_equal(sizeclass_table[class].size, 1024);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pack_configure(rows[i].bytes);
        assert_int_equal(fill(class, rows[i].heaps), rows[i].packs);
        empty();
    }
}

static void pack_P3_the_newest_goes_first_and_is_used_again(void **state) {
    (void)state;
    pack_configure(SIZE_MAX);
    struct pack *put[3];
    for (unsigned i = 0; i < 3; i++) {
        put[i] = pack_new(&packs, 7, false, 1, MANY);
        pack_put(&packs, 7, put[i], 1 + i);
    }
    assert_int_equal(packs.bytes, 6 * sizeclass_table[7].size);
    for (unsigned i = 3; i-- > 0;)
        assert_ptr_equal(pack_take(&packs, 7), put[i]);
    assert_null(pack_take(&packs, 7));
    pack_drop(&packs, put[1], false);
    assert_ptr_equal(pack_new(&packs, 9, false, 1, MANY), put[1]);
}

/* A deep one is as long as four others, counts as four, and is never taken for one of them. */
static void pack_P1_deep_ones_count_as_four(void **state) {
    (void)state;
    pack_configure(SIZE_MAX);
    assert_int_equal(fill_with(3, true, 1, MANY), 8);
    assert_int_equal(packs.of[3].count, 32);
    assert_int_equal(packs.bytes, 8 * PACK_DEEP_BLOCKS * sizeclass_table[3].size);
    assert_int_equal(fill_of(4, 1, MANY), 32);
    assert_int_equal(fill_with(5, true, 1, 1), (HALF - 64) / 4); /* a small class: up to half of all */
    assert_int_equal(packs.count, HALF);
    empty();
    for (unsigned few = 28; few < 30; few++) { /* and none that is too many for a class */
        for (unsigned i = 0; i < few; i++)
            pack_put(&packs, 3, pack_new(&packs, 3, false, 1, MANY), 1);
        assert_int_equal(fill_with(3, true, 1, MANY), few == 28);
        empty();
    }
    struct pack *deep = pack_new(&packs, 3, true, 1, MANY), *other = pack_new(&packs, 3, false, 1, MANY);
    pack_drop(&packs, deep, true);
    pack_drop(&packs, other, false);
    assert_ptr_equal(pack_new(&packs, 6, false, 1, MANY), other);
    assert_ptr_equal(pack_new(&packs, 6, true, 1, MANY), deep);
}

/* One that is given up by and by is deep as long as it has more blocks than others have room for, and counts as what is left. */
static void pack_deep_ones_may_get_fewer(void **state) {
    (void)state;
    static const struct { unsigned blocks, counts; } rows[] = {{126, 4}, {95, 3}, {63, 2}, {31, 1}, {0, 0}};
    pack_configure(SIZE_MAX);
    struct pack *pack = pack_new(&packs, 3, true, 1, MANY);
    for (size_t i = 0; rows[i].blocks > 0; i++) {
        assert_int_equal(pack_stays(rows[i].blocks), rows[i + 1].blocks);
        pack_put(&packs, 3, pack, rows[i].blocks);
        assert_true(pack_is_deep(pack));
        assert_int_equal(pack_count(pack), rows[i].blocks);
        assert_int_equal(packs.of[3].count, rows[i].counts);
        assert_int_equal(packs.count, rows[i].counts);
        assert_ptr_equal(pack_take(&packs, 3), pack);
    }
    assert_int_equal(packs.bytes + packs.count, 0);
}

static void pack_rests_as_far_as_nobody_took_it(void **state) {
    (void)state;
    pack_configure(SIZE_MAX);
    unsigned count = fill(5, 1);
    assert_int_equal(packs.of[5].rested, 0);
    pack_rest(&packs);
    assert_int_equal(packs.of[5].rested, count);
    for (unsigned i = 0; i < 4; i++)
        pack_drop(&packs, pack_take(&packs, 5), false);
    fill(5, 1);
    assert_int_equal(packs.of[5].count, count);
    assert_int_equal(packs.of[5].rested, count - 4);
    empty();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pack_P1_one_heap_has_its_bounds),
        cmocka_unit_test(pack_P1_of_a_small_class_there_may_be_more),
        cmocka_unit_test(pack_P1_all_of_a_class_may_have_room),
        cmocka_unit_test(pack_P1_waves_leave_a_ninth_to_others),
        cmocka_unit_test(pack_P1_small_classes_leave_half_to_others),
        cmocka_unit_test(pack_P2_heaps_share_what_is_configured),
        cmocka_unit_test(pack_P3_the_newest_goes_first_and_is_used_again),
        cmocka_unit_test(pack_P1_deep_ones_count_as_four),
        cmocka_unit_test(pack_deep_ones_may_get_fewer),
        cmocka_unit_test(pack_rests_as_far_as_nobody_took_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
