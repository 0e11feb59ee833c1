/* Unit tests of log: os_write is a buffer, and abort (renamed by the build) jumps back into the test. */
#include "base.h"
#include "os.h"
#include "log.h"
#include "unit.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    char text[1024];
    size_t bytes;
    int fd;
    int writes;
    jmp_buf back;
} fake;

int os_stderr(void) {
    return 2;
}

void os_write(int fd, const char *text, size_t bytes) {
    fake.fd = fd;
    fake.writes++;
    fake.bytes = bytes;
    assert_true(bytes < sizeof fake.text);
    memcpy(fake.text, text, bytes);
    fake.text[bytes] = '\0';
}

_Noreturn void abort(void) {
    longjmp(fake.back, 1);
}

static int setup(void **state) {
    (void)state;
    memset(&fake, 0, sizeof fake);
    return 0;
}

static void log_formats_as_printf_does(void **state) {
    (void)state;
    char ours[256], theirs[256];
#define SAME(...)                                                               \
    do {                                                                        \
        size_t length = log_format(ours, sizeof ours, __VA_ARGS__);             \
        assert_int_equal(length, snprintf(theirs, sizeof theirs, __VA_ARGS__)); \
        assert_string_equal(ours, theirs);                                      \
    } while (0)
    SAME("plain 100%% %s|%c", "text", 'x');
    SAME("%d %d %d", 0, INT_MIN, INT_MAX);
    SAME("%ld %lld", LONG_MIN, LLONG_MIN);
    SAME("%u %zu %lu %llu", UINT_MAX, SIZE_MAX, ULONG_MAX, ULLONG_MAX);
    SAME("%x %lx %llx %zx", 0xabu, 0x1234567890abcdefUL, ULLONG_MAX, (size_t)0);
    SAME("%p", (void *)&fake);
#undef SAME
    assert_int_equal(log_format(ours, sizeof ours, "%p", NULL), 3);
    assert_string_equal(ours, "0x0");
}

static void log_P2_what_does_not_fit_is_cut(void **state) {
    (void)state;
    char text[8];
    memset(text, '#', sizeof text);
    assert_int_equal(log_format(text, 6, "%s", "abcdefgh"), 5);
    assert_string_equal(text, "abcde");
    assert_int_equal(text[6], '#');
    assert_int_equal(log_format(text, 1, "%d", 12345), 0);
    assert_string_equal(text, "");
}

static void log_P2_a_long_line_still_ends(void **state) {
    (void)state;
    char longer[2000];
    memset(longer, 'a', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    log_line("%s", longer);
    assert_true(fake.bytes <= 512);
    assert_int_equal(fake.text[fake.bytes - 1], '\n');
    assert_int_equal(strchr(fake.text, '\n') - fake.text, fake.bytes - 1);
}

static void log_P1_a_line_is_one_write(void **state) {
    (void)state;
    log_line("%d of %s", 3, "four");
    assert_string_equal(fake.text, "hakmem: 3 of four\n");
    assert_int_equal(fake.fd, 2);
    assert_int_equal(fake.writes, 1);
    log_raw("raw", 3);
    assert_string_equal(fake.text, "raw");
}

static void log_P3_a_line_keeps_errno(void **state) {
    (void)state;
    errno = 77;
    log_line("%s %d", "text", 1);
    assert_int_equal(errno, 77);
}

static void log_last_words(void **state) {
    (void)state;
    if (setjmp(fake.back) == 0)
        log_die("double free of %p", (void *)(uintptr_t)0x1000);
    assert_string_equal(fake.text, "hakmem: double free of 0x1000\n");
    if (setjmp(fake.back) == 0)
        base_assert_failed("P2", "a < b", "slab.c", 12);
    assert_string_equal(fake.text, "hakmem: promise P2 is broken: a < b (slab.c:12)\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(log_formats_as_printf_does, setup),
        cmocka_unit_test_setup(log_P2_what_does_not_fit_is_cut, setup),
        cmocka_unit_test_setup(log_P2_a_long_line_still_ends, setup),
        cmocka_unit_test_setup(log_P1_a_line_is_one_write, setup),
        cmocka_unit_test_setup(log_P3_a_line_keeps_errno, setup),
        cmocka_unit_test_setup(log_last_words, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
