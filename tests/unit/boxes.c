/* Unit tests of boxes. The build overrides two boxes: counters=1 and asserts=0, whatever the variant says. */
#include "boxes.h"
#include "unit.h"

#include <string.h>

_Static_assert(has(counters) == 1 && has(asserts) == 0, "P1: a box is a constant expression");

static const struct {
    const char *name;
    int open;
    int column;
} rows[] = {
#define BOX(name, sentence, standard, fast, observe, hardened, check) \
    {#name, has(name), BOXES_COLUMN(standard, fast, observe, hardened, check)},
#include "boxes.def"
#undef BOX
};

static void boxes_P2_an_override_touches_no_other_box(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].name, "counters") == 0)
            assert_int_equal(rows[i].open, 1);
        else if (strcmp(rows[i].name, "asserts") == 0)
            assert_int_equal(rows[i].open, 0);
        else
            assert_int_equal(rows[i].open, rows[i].column);
    }
}

static void boxes_P1_a_box_is_open_or_shut(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_in_range(rows[i].open, 0, 1);
    assert_true(strlen(HAKMEM_VARIANT_NAME) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_P2_an_override_touches_no_other_box),
        cmocka_unit_test(boxes_P1_a_box_is_open_or_shut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
