/* Unit tests of seams. */
#include "../../src/seams.h"

#include "base.h"
#include "sizeclass.h"
#include "unit/unit.h"

#include <string.h>

#define AT(units) ((size_t)(units) << UNIT_SHIFT)

/* P1, and what is in the list, as bits. */
static unsigned bits_of(const struct seams *seams) {
    unsigned bits = 0, count = seams_count(seams);
    for (unsigned i = 0; i < SEAMS_MOST; i++) {
        assert_int_equal(seams->at[i] != 0, i < count);
        assert_true(i == 0 || seams->at[i] == 0 || seams->at[i] > seams->at[i - 1]);
        bits |= seams->at[i] ? 1u << seams->at[i] : 0;
    }
    return bits;
}

static void seams_P1_in_order(void **state) {
    (void)state;
    static const unsigned units[] = {9, 3, 20, 3, 1, 9, 12, 0, 5, 2, 20};
    struct seams seams = {{0}};
    for (unsigned i = 0; i < ARRAY_LENGTH(units); i++)
        assert_true(seams_add(&seams, AT(units[i])));
    assert_int_equal(bits_of(&seams), 1u << 1 | 1u << 2 | 1u << 3 | 1u << 5 | 1u << 9 | 1u << 12 | 1u << 20);
    assert_int_equal(seams_count(&seams), SEAMS_MOST);
    struct seams full = seams;
    assert_false(seams_add(&seams, AT(4)));
    assert_true(seams_add(&seams, AT(5)));
    assert_memory_equal(&seams, &full, sizeof full);
}

static void seams_are_areas(void **state) {
    (void)state;
    struct seams seams = {{0}};
    assert_int_equal(seams_last(&seams), 0);
    assert_int_equal(seams_begin(&seams, 0, AT(8)), 0);
    assert_int_equal(seams_begin(&seams, 1, AT(8)), AT(8));
    seams_add(&seams, AT(5));
    seams_add(&seams, AT(2));
    static const unsigned begins[] = {0, 2, 5, 8};
    for (unsigned i = 0; i < ARRAY_LENGTH(begins); i++)
        assert_int_equal(seams_begin(&seams, i, AT(8)), AT(begins[i]));
    assert_int_equal(seams_last(&seams), AT(5));
}

static void seams_of_a_part(void **state) {
    (void)state;
    struct seams seams = {{2, 5, 7}};
    struct seams part = seams_between(&seams, AT(2), AT(7));
    assert_int_equal(bits_of(&part), 1u << 3);
    part = seams_between(&seams, 0, AT(5));
    assert_int_equal(bits_of(&part), 1u << 2);
    part = seams_between(&seams, AT(1), AT(20));
    assert_int_equal(bits_of(&part), 1u << 1 | 1u << 4 | 1u << 6);
}

static void seams_laid_over_others(void **state) {
    (void)state;
    struct seams below = {{1, 4, 9}}, over = {{2, 3}}, result;
    assert_true(seams_lay_over(&below, AT(12), &over, AT(5), &result));
    assert_int_equal(bits_of(&result), 1u << 2 | 1u << 3 | 1u << 5 | 1u << 9);
    assert_true(seams_lay_over(&below, AT(12), &over, AT(9), &result));
    assert_int_equal(bits_of(&result), 1u << 2 | 1u << 3 | 1u << 9);
    assert_true(seams_lay_over(&below, AT(12), &over, AT(12), &result));
    assert_int_equal(bits_of(&result), bits_of(&over));
    struct seams many = {{1, 2, 3, 4, 5, 6}};
    assert_true(seams_lay_over(&below, AT(10), &many, AT(9), &result));
    assert_false(seams_lay_over(&below, AT(10), &many, AT(8), &result));
}

/* Against sets of offsets, with numbers that come from a seed. */
static void seams_are_sets(void **state) {
    (void)state;
    unsigned random = 7;
    for (unsigned round = 0; round < 20000; round++) {
        struct seams seams = {{0}};
        unsigned set = 0;
        for (unsigned i = 0; i < 10; i++) {
            random = random * 1103515245 + 12345;
            unsigned unit = random >> 16 & 31, more = unit ? set | 1u << unit : set;
            bool fits = __builtin_popcount(more) <= SEAMS_MOST;
            assert_int_equal(seams_add(&seams, AT(unit)), fits);
            set = fits ? more : set;
            assert_int_equal(bits_of(&seams), set);
        }
        unsigned from = random >> 8 & 15, to = from + (random >> 4 & 15) + 1;
        struct seams part = seams_between(&seams, AT(from), AT(to));
        assert_int_equal(bits_of(&part), set >> from & ~1u & ((1u << (to - from)) - 1));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seams_P1_in_order), cmocka_unit_test(seams_are_areas),
        cmocka_unit_test(seams_of_a_part),   cmocka_unit_test(seams_laid_over_others),
        cmocka_unit_test(seams_are_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
