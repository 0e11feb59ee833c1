/* Unit tests of the room poisson: how many are chosen, and which. */
#include "../../src/poisson.c"

#include "unit/unit.h"

#include <math.h>

static void poisson_logarithm_is_that_of_libm(void **state) {
    (void)state;
    for (unsigned shift = 0; shift <= 53; shift++)
        for (uint64_t part = 0; part < 1000; part++) {
            uint64_t number = ((uint64_t)1 << 53 >> shift) - (((uint64_t)1 << 53 >> shift) / 2000 * part);
            if (number == 0)
                continue;
            double exact = -log((double)number / 9007199254740992.0);
            assert_true(fabs(poisson_minus_log(number) - exact) < 1e-5);
        }
    assert_true(poisson_minus_log((uint64_t)1 << 53) == 0);
}

static void poisson_P1_rate_1_chooses_every_event(void **state) {
    (void)state;
    struct poisson countdown = {0};
    for (size_t bytes = 0; bytes < 1000; bytes++)
        assert_true(poisson_is_due(&countdown, 1, bytes % 3 * bytes));
}

/* Events of s bytes are chosen with probability 1 - exp(-s / rate), whatever comes before or after them. */
static void check_share(uint64_t rate, size_t bytes, size_t others) {
    enum { EVENTS = 400000 };
    struct poisson countdown = {.left = 100, .random = 12345 + bytes};
    unsigned chosen = 0;
    for (unsigned i = 0; i < EVENTS; i++) {
        chosen += poisson_is_due(&countdown, rate, bytes);
        for (unsigned other = 0; others && other < 3; other++)
            poisson_is_due(&countdown, rate, others);
    }
    double share = 1 - exp(-(double)bytes / (double)rate), error = sqrt(share * (1 - share) / EVENTS);
    assert_true(fabs((double)chosen / EVENTS - share) <= 5 * error);
}

static void poisson_every_byte_has_the_same_chance(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 16, 100, 4096, 65536, 524288, 2000000, 1 << 24};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        check_share(524288, sizes[i], 0);
        check_share(4096, sizes[i], 48);
    }
}

/* And the first choice of a zeroed countdown is as far as any. */
static void poisson_P2_no_choice_is_too_far(void **state) {
    (void)state;
    double sum = 0;
    enum { THREADS = 2000 };
    for (unsigned i = 0; i < THREADS; i++) {
        struct poisson countdown = {0};
        assert_false(poisson_is_due(&countdown, (uint64_t)1 << 40, 0));
        assert_true(countdown.left >= 0 && countdown.left <= FAR * ((int64_t)1 << 40));
        sum += (double)countdown.left / ((uint64_t)1 << 40);
    }
    assert_true(fabs(sum / THREADS - 1) < 6 / sqrt(THREADS)); /* six standard errors */
    struct poisson empty = {.left = 0, .random = 1};
    assert_true(poisson_is_due(&empty, 4096, PTRDIFF_MAX)); /* no overflow */
    assert_true(empty.left >= 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poisson_logarithm_is_that_of_libm),
        cmocka_unit_test(poisson_P1_rate_1_chooses_every_event),
        cmocka_unit_test(poisson_every_byte_has_the_same_chance),
        cmocka_unit_test(poisson_P2_no_choice_is_too_far),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
