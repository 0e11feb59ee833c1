/* Unit tests of stats: sums of numbers that fakes give. */
#include "stats.h"

#include "boxes.h"
#include "large.h"
#include "limit.h"
#include "log.h"
#include "metadata.h"
#include "options.h"
#include "os.h"

#include "unit/unit.h"

#include <stdio.h>
#include <string.h>

struct os_counts os_counts;
struct limit limit;
const char options_version[] = "1.2.3", options_commit[] = "abc", options_variant[] = "unit";

static struct {
    size_t mapped, available, dirty, large_mapped, large_cached;
    struct heap heaps[2];
    char said[4000];
    const char *name;
} fake;

const char *options_profile_name(void) {
    return "speed";
}

size_t superslab_mapped_bytes(void) {
    return fake.mapped;
}

size_t superslab_free_bytes(void) {
    return fake.available;
}

size_t superslab_dirty_bytes(void) {
    return fake.dirty;
}

size_t large_mapped_bytes(void) {
    return fake.large_mapped;
}

size_t large_cached_bytes(void) {
    return fake.large_cached;
}

uint64_t metadata_bytes(void) {
    return 12345;
}

uint32_t os_process_number(void) {
    return 4711;
}

size_t os_read_file(const char *path, char *text, size_t bytes) {
    assert_string_equal(path, "/proc/self/comm");
    assert_true(bytes > strlen(fake.name));
    strcpy(text, fake.name);
    return strlen(fake.name);
}

void os_read_usage(struct os_usage *usage) {
    *usage = (struct os_usage){.peak_rss_bytes = 3 * MIB / 2, .minor_faults = 77, .user_ns = 1234567890};
}

void heap_each(void (*visit)(const struct heap *heap, void *data), void *data) {
    for (size_t i = 0; i < ARRAY_LENGTH(fake.heaps); i++)
        visit(&fake.heaps[i], data);
}

void log_line(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    size_t at = strlen(fake.said);
    vsnprintf(fake.said + at, sizeof fake.said - at, format, arguments);
    strcat(fake.said, "\n");
    va_end(arguments);
}

size_t log_format(char *buffer, size_t bytes, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(buffer, bytes, format, arguments);
    va_end(arguments);
    assert_in_range(length, 1, bytes - 1);
    return (size_t)length;
}

void log_raw(const char *text, size_t bytes) {
    strncat(fake.said, text, bytes);
}

static int setup(void **state) {
    (void)state;
    memset(&fake, 0, sizeof fake);
    fake.name = "cc1plus\n";
    memset(&os_counts, 0, sizeof os_counts);
    memset(&limit, 0, sizeof limit);
    limit.hard = limit.near_from = SIZE_MAX;
    return 0;
}

static void stats_P1_free_and_live_are_what_is_mapped(void **state) {
    (void)state;
    struct stats stats;
    fake.mapped = 100 * MIB;
    fake.available = 30 * MIB;
    fake.dirty = 20 * MIB;
    fake.large_mapped = 50 * MIB;
    fake.large_cached = 5 * MIB;
    stats_collect(&stats);
    assert_int_equal(stats.mapped_bytes, 150 * MIB);
    assert_int_equal(stats.free_bytes, 35 * MIB);
    assert_int_equal(stats.live_bytes, 115 * MIB);
    assert_int_equal(stats.large_bytes, 45 * MIB);
    assert_int_equal(stats.dirty_bytes, 25 * MIB);
    assert_int_equal(stats.metadata_bytes, 12345);
    struct spare_recent recent[] = {{.bytes = MIB},
                                    {.bytes = 2 * MIB}}; /* large blocks at hand are no program's */
    fake.heaps[0].hand.recent = &recent[0];
    fake.heaps[1].hand.recent = &recent[1];
    stats_collect(&stats);
    assert_int_equal(stats.free_bytes, 38 * MIB);
    assert_int_equal(stats.live_bytes, 112 * MIB);
}

static void stats_P1_sums_that_changed_meanwhile_do_not_wrap(void **state) {
    (void)state;
    struct stats stats;
    fake.mapped = 10 * MIB;
    fake.available = 20 * MIB;
    fake.large_cached = MIB;
    struct spare_recent recent = {.bytes = MIB};
    fake.heaps[0].hand.recent = &recent;
    stats_collect(&stats);
    assert_int_equal(stats.live_bytes, 0);
    assert_int_equal(stats.large_bytes, 0);
    assert_int_equal(stats.free_bytes + stats.live_bytes, stats.mapped_bytes);
}

static void stats_sums_up_all_heaps(void **state) {
    (void)state;
    struct stats stats;
    fake.heaps[0].idle = true;
    for (size_t i = 0; i < ARRAY_LENGTH(fake.heaps); i++) {
        struct heap *heap = &fake.heaps[i];
        heap->larges = 1;
        heap->large_frees = 2;
        heap->remote_frees = 3;
        heap->refills = 4;
        heap->flushes = 5;
    }
    /* Blocks of one heap freed by the other: only the sum makes sense. */
    fake.heaps[0].mallocs[0] = 10;
    fake.heaps[1].frees[0] = 4;
    stats_collect(&stats);
    assert_int_equal(stats.heaps, 2);
    assert_int_equal(stats.idle_heaps, 1);
    assert_int_equal(stats.larges, 2);
    assert_int_equal(stats.large_frees, 4);
    assert_int_equal(stats.remote_frees, 6);
    assert_int_equal(stats.refills, 8);
    assert_int_equal(stats.flushes, 10);
    assert_int_equal(stats.mallocs, has(counters) ? 10 : 0);
    assert_int_equal(stats.frees, has(counters) ? 4 : 0);
    assert_int_equal(stats.exact_bytes, has(counters) ? 6 * 16 : 0);
}

static void stats_summary_reads_well(void **state) {
    (void)state;
    fake.mapped = 3 * MIB;
    atomic_store(&os_counts.map, 9);
    stats_print_summary();
    static const char *const parts[] = {"summary of cc1plus, process 4711 (unit 1.2.3, profile speed)",
                                        "peak RSS        1.5 MiB",
                                        "mapped          3.0 MiB",
                                        "user time       1.235 s",
                                        "minor 77",
                                        "mmap 9,"};
    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++)
        if (!strstr(fake.said, parts[i]))
            fail_msg("no \"%s\" in:\n%s", parts[i], fake.said);
}

static void stats_summary_says_whose_it_is(void **state) {
    (void)state;
    fake.name = "a\033[31m\n"; /* any process may call itself so, and a terminal would listen */
    stats_print_summary();
    assert_non_null(strstr(fake.said, "summary of a?[31m, process 4711 (unit"));
    setup(state);
    fake.name = ""; /* no /proc */
    stats_print_summary();
    assert_non_null(strstr(fake.said, "summary of process 4711 (unit"));
}

static void stats_summary_says_what_calls_cost_and_what_was_refused(void **state) {
    (void)state;
    atomic_store(&os_counts.bytes[OS_ADVISE], 5 * MIB);
    atomic_store(&os_counts.ns[OS_ADVISE], 7000);
    atomic_store(&os_counts.wait, 11);
    stats_print_summary();
    assert_non_null(strstr(fake.said, "madvise for 5120 KiB in 7 us"));
    assert_null(strstr(fake.said, "mremap for"));
    assert_null(strstr(fake.said, "refused"));
    atomic_store(&os_counts.advise_other, 2);
    stats_print_summary();
    assert_non_null(strstr(fake.said, "of them refused: mmap 0, munmap 0, mremap 0, madvise 2"));
    assert_non_null(strstr(fake.said, "sleep 11,"));
    assert_null(strstr(fake.said, "limit"));
    limit.hard = MIB;
    limit.near_from = MIB / 2;
    limit.counting = true;
    atomic_store(&limit.refusals, 3);
    stats_print_summary();
    assert_non_null(strstr(fake.said, "hard limit      1024 KiB, refusals 3"));
    assert_non_null(strstr(fake.said, "warm from 512 KiB"));
    assert_non_null(strstr(fake.said, "held            0.0 MiB"));
}

static void stats_os_line_is_one_line(void **state) {
    (void)state;
    _Atomic uint64_t *counts = (_Atomic uint64_t *)&os_counts;
    for (size_t i = 0; i < sizeof os_counts / sizeof *counts; i++)
        atomic_store(&counts[i], UINT64_MAX / 2);
    stats_print_os_line();
    assert_int_equal(strncmp(fake.said, "[SS_OS_STATS] alloc=0 free=", 27), 0);
    assert_ptr_equal(strchr(fake.said, '\n'), fake.said + strlen(fake.said) - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(stats_P1_free_and_live_are_what_is_mapped, setup),
        cmocka_unit_test_setup(stats_P1_sums_that_changed_meanwhile_do_not_wrap, setup),
        cmocka_unit_test_setup(stats_sums_up_all_heaps, setup),
        cmocka_unit_test_setup(stats_summary_reads_well, setup),
        cmocka_unit_test_setup(stats_summary_says_whose_it_is, setup),
        cmocka_unit_test_setup(stats_summary_says_what_calls_cost_and_what_was_refused, setup),
        cmocka_unit_test_setup(stats_os_line_is_one_line, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
