/* Unit tests of options: a fake environment, log and exit. The room's .c is included, because each test starts
 * from the state that a new process has. */
#include "../../src/options.c"

#include "unit.h"

#include <stdio.h>

#define LINES 32

static struct {
    const char *entries[8]; /* "NAME=value" */
    bool secure;
    char lines[LINES][400];
    int count;
    int status, asked;
    jmp_buf back;
} fake;

static struct options untouched;

const char *os_environment(size_t i) {
    return i < ARRAY_LENGTH(fake.entries) ? fake.entries[i] : NULL;
}

const char *os_getenv(const char *name) {
    size_t length = strlen(name);
    fake.asked++;
    for (size_t i = 0; fake.entries[i] != NULL; i++)
        if (strncmp(fake.entries[i], name, length) == 0 && fake.entries[i][length] == '=')
            return fake.entries[i] + length + 1;
    return NULL;
}

bool os_secure(void) {
    return fake.secure;
}

_Noreturn void os_exit(int status) {
    fake.status = status;
    longjmp(fake.back, 1);
}

void log_line(const char *format, ...) {
    va_list arguments;
    assert_true(fake.count < LINES);
    va_start(arguments, format);
    vsnprintf(fake.lines[fake.count++], sizeof fake.lines[0], format, arguments);
    va_end(arguments);
}

size_t log_format(char *buffer, size_t bytes, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(buffer, bytes, format, arguments);
    va_end(arguments);
    return (size_t)length;
}

static int setup(void **state) {
    (void)state;
    memset(&fake, 0, sizeof fake);
    memset(&options_state, 0, sizeof options_state);
    options = untouched;
    return 0;
}

/* Reads an environment of these entries (at most seven). */
#define READ(...) read_entries((const char *[8]){__VA_ARGS__})

static void read_entries(const char *const *entries) {
    memcpy(fake.entries, entries, sizeof fake.entries);
    if (setjmp(fake.back) == 0)
        options_read();
}

static void options_P1_defaults_are_the_speed_profile(void **state) {
    (void)state;
    assert_int_equal(options.keep_free, 64 * MIB);
    assert_int_equal(options.prewarm, 8);
    assert_int_equal(options.decommit, DECOMMIT_DONTNEED);
    READ("HOME=/", "HAKMEMX=1");
    assert_memory_equal(&options, &untouched, sizeof options);
    assert_string_equal(options_profile_name(), "speed");
    assert_int_equal(fake.count, 0);
}

/* What starts every process on a system: one look at the environment, not one for each option. */
static void options_asks_nothing_where_none_is_given(void **state) {
    READ("HOME=/", "HAKMEM=1", "HAK=1", "H", "");
    assert_int_equal(fake.asked, 0);
    setup(state);
    READ("HOME=/", "HAKMEM_STATS=1");
    assert_true(options.stats && fake.asked >= OPTIONS_ROWS);
}

static void options_profiles_and_their_older_names(void **state) {
    READ("HAKMEM_PROFILE=lean");
    assert_int_equal(options.profile, PROFILE_LEAN);
    assert_int_equal(options.keep_free, MIB);
    assert_int_equal(options.large_cache, 0);
    assert_false(options.huge_pages);
    setup(state);
    READ("HAKMEM_PROFILE=MIXED_TINYV3_C7_BALANCED");
    assert_int_equal(options.profile, PROFILE_BALANCED);
    assert_int_equal(options.keep_free, 16 * MIB);
    setup(state);
    READ("HAKMEM_PROFILE=MIXED_TINYV3_C7_SAFE");
    assert_memory_equal(&options, &untouched, sizeof options);
    assert_int_equal(fake.count, 0);
}

static void options_P2_a_value_by_itself_wins(void **state) {
    (void)state;
    READ("HAKMEM_KEEP_FREE=5m", "HAKMEM_PROFILE=lean", "HAKMEM_HUGE_PAGES=on");
    assert_int_equal(options.keep_free, 5 * MIB);
    assert_true(options.huge_pages);
    assert_int_equal(options.prewarm, 1);
}

static void options_P2_lean_switch_wins_over_the_profile(void **state) {
    (void)state;
    READ("HAKMEM_PROFILE=balanced", "HAKMEM_SS_MEM_LEAN=1", "HAKMEM_LARCH=", "HAKMEM_LARGE_CACHE=2k");
    assert_int_equal(options.profile, PROFILE_BALANCED);
    assert_true(options.mem_lean);
    assert_int_equal(options.keep_free, MIB);
    assert_int_equal(options.large_cache, 2 * KIB);
}

static void options_older_names_and_which_wins(void **state) {
    READ("HAKMEM_SS_OS_STATS=1", "HAKMEM_SS_MEM_LEAN_DECOMMIT=OFF");
    assert_true(options.os_stats);
    assert_int_equal(options.decommit, DECOMMIT_OFF);
    assert_int_equal(fake.count, 0);
    setup(state);
    READ("HAKMEM_SS_MEM_LEAN_DECOMMIT=OFF", "HAKMEM_DECOMMIT=free");
    assert_int_equal(options.decommit, DECOMMIT_FREE);
    setup(state);
    READ("HAKMEM_SS_MEM_LEAN_DECOMMIT=OFF", "HAKMEM_DECOMMIT="); /* counts as not given */
    assert_int_equal(options.decommit, DECOMMIT_OFF);
}

static void options_bytes_and_counts(void **state) {
    static const struct {
        const char *text;
        size_t bytes;
    } good[] = {{"HAKMEM_KEEP_FREE=0", 0},
                {"HAKMEM_KEEP_FREE=123", 123},
                {"HAKMEM_KEEP_FREE=7K", 7 * KIB},
                {"HAKMEM_KEEP_FREE=3g", 3 * GIB},
                {"HAKMEM_KEEP_FREE=1024g", 1024 * GIB}};
    for (size_t i = 0; i < ARRAY_LENGTH(good); i++) {
        setup(state);
        READ(good[i].text);
        assert_int_equal(options.keep_free, good[i].bytes);
        assert_int_equal(fake.count, 0);
    }
    setup(state);
    READ("HAKMEM_BENCH_EPOCH_ITERS=500000000");
    assert_int_equal(options.bench_epoch_iters, 500000000);
}

static void options_P3_malformed_values_are_ignored(void **state) {
    static const char *const bad[] = {
        "HAKMEM_KEEP_FREE=m",  "HAKMEM_KEEP_FREE=12q",   "HAKMEM_KEEP_FREE=1mm",
        "HAKMEM_KEEP_FREE=-1", "HAKMEM_KEEP_FREE=1025g", "HAKMEM_KEEP_FREE=17179869184g",
        "HAKMEM_PREWARM=32",   "HAKMEM_PREWARM=1k",      "HAKMEM_PREWARM=18446744073709551617",
        "HAKMEM_STATS=2",      "HAKMEM_STATS=maybe",     "HAKMEM_PROFILE=fastest",
        "HAKMEM_DECOMMIT=",    "HAKMEM_NO_SUCH_OPTION=1"};
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        setup(state);
        READ(bad[i]);
        assert_memory_equal(&options, &untouched, sizeof options);
        bool empty = bad[i][strlen(bad[i]) - 1] == '=';
        assert_int_equal(fake.count, empty ? 0 : 1);
        if (!empty)
            assert_non_null(strstr(fake.lines[0], bad[i]));
    }
}

static void options_P3_reports_say_what_is_wrong(void **state) {
    (void)state;
    READ("HAKMEM_PROFILE=fast");
    assert_string_equal(fake.lines[0], "ignored (not one of speed, balanced, lean): HAKMEM_PROFILE=fast");
    setup(state);
    READ("HAKMEM_PREWARM=99", "HAKMEM_KEEP_FREE=x", "HAKMEM_FOO=1");
    assert_int_equal(fake.count, 3);
    assert_string_equal(fake.lines[0], "ignored (not bytes, as 65536, 512k, 64m or 1g): HAKMEM_KEEP_FREE=x");
    assert_string_equal(fake.lines[1], "ignored (not in 0..31 blocks): HAKMEM_PREWARM=99");
    assert_string_equal(fake.lines[2], "ignored (no such option; HAKMEM_VERBOSE=1 lists them): HAKMEM_FOO=1");
}

static void options_P3_reports_name_the_unit(void **state) {
    (void)state;
    READ("HAKMEM_PURGE_DELAY=4h", "HAKMEM_SOFT_LIMIT=cgroups", "HAKMEM_STATS=maybe");
    assert_int_equal(fake.count, 3);
    for (int i = 0; i < fake.count; i++)
        assert_true(strcmp(fake.lines[i], "ignored (not a number of ms): HAKMEM_PURGE_DELAY=4h") == 0 ||
                    strcmp(fake.lines[i],
                           "ignored (not bytes, as 64m or 1g, or cgroup): HAKMEM_SOFT_LIMIT=cgroups") == 0 ||
                    strcmp(fake.lines[i], "ignored (not 0 or 1): HAKMEM_STATS=maybe") == 0);
}

/* They are not in force, so neither are they printed as if they were. */
static void options_P3_what_only_another_variant_does(void **state) {
    READ("HAKMEM_LATENCY=1", "HAKMEM_TRACE=7", "HAKMEM_VERBOSE=1");
    assert_int_equal(options.latency, has(calls));
    assert_int_equal(options.trace, has(calls) ? 7 : 0);
    assert_int_equal(fake.count, OPTIONS_ROWS + 1 + (has(calls) ? 0 : 2));
    assert_string_equal(fake.lines[fake.count - 1],
                        has(calls) ? "HAKMEM_TRACE=7 (environment)" : "HAKMEM_TRACE=0 (default)");
    if (has(calls))
        return;
    assert_non_null(strstr(fake.lines[0], "ignored (for the variant observe, this is "));
    assert_non_null(strstr(fake.lines[0], "): HAKMEM_LATENCY=1"));
    assert_non_null(strstr(fake.lines[1], "): HAKMEM_TRACE=7"));
    setup(state);
    READ("HAKMEM_TRACE=7", "HAKMEM_STRICT=1");
    assert_int_equal(fake.status, 2);
    setup(state);
    READ("HAKMEM_TRACE=0", "HAKMEM_LATENCY=no", "HAKMEM_STRICT=1");
    assert_int_equal(fake.status, 0);
    assert_int_equal(fake.count, 0);
}

static void options_P3_strict_refuses(void **state) {
    (void)state;
    READ("HAKMEM_FOO=1", "HAKMEM_VERBOSE=1", "HAKMEM_STRICT=1");
    assert_int_equal(fake.status, 2);
    assert_string_equal(fake.lines[0], "refused (no such option; HAKMEM_VERBOSE=1 lists them): HAKMEM_FOO=1");
    assert_non_null(strstr(fake.lines[1], "version")); /* and it does, before the end */
    setup(state);
    READ("HAKMEM_STRICT=yes", "HAKMEM_PREWARM=2");
    assert_int_equal(fake.status, 0);
    assert_int_equal(options.prewarm, 2);
}

static void options_P4_a_privileged_process_reads_nothing(void **state) {
    (void)state;
    fake.secure = true;
    READ("HAKMEM_PROFILE=lean", "HAKMEM_VERBOSE=1", "HAKMEM_FOO=1");
    assert_memory_equal(&options, &untouched, sizeof options);
    assert_int_equal(fake.count, 0);
}

static void options_verbose_prints_every_value(void **state) {
    (void)state;
    READ("HAKMEM_VERBOSE=1", "HAKMEM_PROFILE=balanced", "HAKMEM_LARGE_CACHE=1536");
    assert_int_equal(fake.count, OPTIONS_ROWS + 1);
    assert_non_null(strstr(fake.lines[0], options_version));
    assert_non_null(strstr(fake.lines[0], options_variant));
    assert_string_equal(fake.lines[1 + OPTIONS_ROW_profile], "HAKMEM_PROFILE=balanced (environment)");
    assert_string_equal(fake.lines[1 + OPTIONS_ROW_keep_free], "HAKMEM_KEEP_FREE=16m (profile)");
    assert_string_equal(fake.lines[1 + OPTIONS_ROW_large_cache], "HAKMEM_LARGE_CACHE=1536 (environment)");
    assert_string_equal(fake.lines[1 + OPTIONS_ROW_decommit], "HAKMEM_DECOMMIT=DONTNEED (default)");
    setup(state);
    READ("HAKMEM_VERBOSE=1", "HAKMEM_MEM_LEAN=1");
    assert_string_equal(fake.lines[1 + OPTIONS_ROW_profile], "HAKMEM_PROFILE=speed (default)");
    assert_non_null(strstr(fake.lines[1 + OPTIONS_ROW_huge_pages], "=0 (HAKMEM_MEM_LEAN)"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(options_P1_defaults_are_the_speed_profile, setup),
        cmocka_unit_test_setup(options_asks_nothing_where_none_is_given, setup),
        cmocka_unit_test_setup(options_profiles_and_their_older_names, setup),
        cmocka_unit_test_setup(options_P2_a_value_by_itself_wins, setup),
        cmocka_unit_test_setup(options_P2_lean_switch_wins_over_the_profile, setup),
        cmocka_unit_test_setup(options_older_names_and_which_wins, setup),
        cmocka_unit_test_setup(options_bytes_and_counts, setup),
        cmocka_unit_test_setup(options_P3_malformed_values_are_ignored, setup),
        cmocka_unit_test_setup(options_P3_reports_say_what_is_wrong, setup),
        cmocka_unit_test_setup(options_P3_reports_name_the_unit, setup),
        cmocka_unit_test_setup(options_P3_what_only_another_variant_does, setup),
        cmocka_unit_test_setup(options_P3_strict_refuses, setup),
        cmocka_unit_test_setup(options_P4_a_privileged_process_reads_nothing, setup),
        cmocka_unit_test_setup(options_verbose_prints_every_value, setup),
    };
    untouched = options;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
