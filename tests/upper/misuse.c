/* Unit tests of misuse: the words go to a fake log. */
#include "misuse.h"

#include "base.h"
#include "log.h"
#include "unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static char said[4][100];
static unsigned lines;

void log_line(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    assert_true(lines < ARRAY_LENGTH(said));
    vsnprintf(said[lines++], sizeof said[0], format, arguments);
    va_end(arguments);
}

_Noreturn void log_die(const char *format, ...) {
    fail_msg("last words where frees are not verified: %s", format);
    __builtin_unreachable();
}

static void misuse_P1_P2_each_kind_is_said_once_and_that_is_all(void **state) {
    (void)state;
    errno = 5;
    for (int i = 0; i < 3; i++) {
        misuse_report(MISUSE_INSIDE, (void *)0x1001);
        misuse_report(MISUSE_DOUBLE_FREE, (void *)0x2000);
        misuse_report(MISUSE_FOREIGN, (void *)0xffffffffffff0010);
        misuse_report(MISUSE_GONE, (void *)0x3000);
    }
    assert_int_equal(errno, 5);
    assert_int_equal(lines, 4);
    assert_string_equal(said[0], "free of 0x1001, which is inside a block");
    assert_string_equal(said[1], "double free of 0x2000");
    assert_string_equal(said[2], "free of 0xffffffffffff0010, which is not a block of hakmem");
    assert_string_equal(
        said[3], "free of 0x3000, which is not a block of hakmem, or not any more: was it freed before?");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(misuse_P1_P2_each_kind_is_said_once_and_that_is_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
