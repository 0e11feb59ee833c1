/* Unit tests of base: alignment, bits and the step through a 256-byte array. */
#include "base.h"
#include "unit.h"

static void base_P1_aligned_values_stay(void **state) {
    (void)state;
    for (size_t power = 1; power <= GIB; power *= 2) {
        assert_true(is_power_of_two(power));
        assert_int_equal(align_up(0, power), 0);
        assert_int_equal(align_up(3 * power, power), 3 * power);
        assert_int_equal(align_down(3 * power, power), 3 * power);
        assert_int_equal(align_up(power + 1, power), power == 1 ? 2 : 2 * power);
        assert_int_equal(align_down(2 * power - 1, power), power);
    }
    assert_false(is_power_of_two(0));
    assert_false(is_power_of_two(48));
}

static void base_bits_of_a_word(void **state) {
    (void)state;
    for (unsigned i = 0; i < 64; i++) {
        uint64_t word = (uint64_t)1 << i;
        assert_int_equal(bits_lowest(word), i);
        assert_int_equal(bits_highest(word), i);
        assert_int_equal(bits_lowest(word | (uint64_t)1 << 63), i);
        assert_int_equal(bits_highest(word | 1), i);
    }
    assert_int_equal(bits_count(0), 0);
    assert_int_equal(bits_count(0xf0f0), 8);
    assert_int_equal(bits_count(UINT64_MAX), 64);
}

/* Every single byte with every value, and random ones, against a walk over them. */
static void base_bits_of_bytes(void **state) {
    (void)state;
    static ALIGNED(16) unsigned char bytes[64];
    uint64_t random = 88172645463325252u;
    for (unsigned round = 0; round < 64 * 256 + 20000; round++) {
        uint64_t expected = 0;
        bool more, any = false;
        for (unsigned i = 0; i < 64; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            unsigned often = round % 3 ? 2 : 256;
            bytes[i] =
                round < 64 * 256 ? (i == round / 256 ? round % 256 : 0) : random % often * (random >> 40 & 1);
            expected |= (uint64_t)(bytes[i] != 0) << i;
            any |= bytes[i] > 1;
        }
        assert_true(bits_of_bytes(bytes, &more) == expected);
        assert_int_equal(more, any);
    }
}

static void base_P2_step_is_full_when_the_low_byte_wraps(void **state) {
    (void)state;
    static ALIGNED(256) unsigned char array[512];
    for (size_t start = 0; start < sizeof array; start += 256) {
        unsigned char *top = array + start;
        for (size_t slot = 1; slot < 32; slot++) {
            assert_false(base_step_full(&top));
            assert_ptr_equal(top, array + start + 8 * slot);
        }
        assert_true(base_step_full(&top));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base_P1_aligned_values_stay),
        cmocka_unit_test(base_bits_of_a_word),
        cmocka_unit_test(base_bits_of_bytes),
        cmocka_unit_test(base_P2_step_is_full_when_the_low_byte_wraps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
