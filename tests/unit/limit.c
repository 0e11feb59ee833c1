/* Unit tests of limit: the system, the clock and the records are fakes. The room's .c is included, because each test
 * starts from the state that a new process has. */
#include "../../src/limit.c"

#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct {
    uint64_t now, high, most;
    unsigned high_above, most_above;
    int reads; /* of the cgroup */
    uint64_t records;
    size_t mappings, allowed;
    int counts, asked; /* of the mappings, for the allowed ones */
    int lines;
    char line[200];
    int opened, refuse_open;
    char paths[200]; /* that were opened */
    uint64_t id, slept;
    bool fires;
    int waits;
    _Atomic uint32_t *changes; /* while somebody waits */
    int closed;
    bool filtered;
} fake;

struct os_counts os_counts;
_Atomic unsigned os_cpus;

static const struct limit untouched = {.hard = SIZE_MAX,
                                       .near_from = SIZE_MAX,
                                       .count_at = LIMIT_FIRST_LOOK,
                                       .worst_at = (uint64_t)2 * LIMIT_FIRST_LOOK};

uint64_t os_now_ns(void) {
    return fake.now;
}

unsigned os_cpu_count(void) {
    return 3;
}

uint64_t os_cgroup_least(const char *file, unsigned *above) {
    bool high = strcmp(file, "memory.high") == 0;
    fake.reads++;
    *above = high ? fake.high_above : fake.most_above;
    return high ? fake.high : fake.most;
}

bool os_cgroup_path(const char *file, unsigned above, char *path, size_t bytes) {
    return snprintf(path, bytes, "/cgroup/%u/%s", above, file) > 0;
}

bool os_knows_of_filter(void) {
    return fake.filtered;
}

size_t os_mappings(void) {
    fake.counts++;
    return fake.mappings;
}

size_t os_mappings_allowed(void) {
    fake.asked++;
    return fake.allowed;
}

int os_open_trigger(const char *path, const char *trigger) {
    snprintf(fake.paths + strlen(fake.paths), sizeof fake.paths - strlen(fake.paths), "%s ", path);
    assert_memory_equal(trigger, "some ", 5);
    return fake.opened++ < fake.refuse_open ? -1 : 123;
}

bool os_wait_trigger(int fd, uint64_t ns) {
    assert_int_equal(fd, 123);
    fake.now += fake.fires ? 0 : ns;
    fake.waits++;
    if (fake.changes)
        ++*fake.changes;
    return fake.fires;
}

void os_wait_for(_Atomic uint32_t *word, uint32_t expected, uint64_t ns) {
    assert_int_equal(*word, expected);
    fake.slept += ns;
}

void os_close(int fd) {
    assert_int_equal(fd, 123);
    fake.closed++;
}

uint64_t os_file_id(int fd) {
    return fd < 0 ? 0 : fake.id;
}

uint64_t metadata_bytes(void) {
    return fake.records;
}

void log_line(const char *format, ...) {
    va_list arguments;
    fake.lines++;
    va_start(arguments, format);
    vsnprintf(fake.line, sizeof fake.line, format, arguments);
    va_end(arguments);
}

static int setup(void **state) {
    (void)state;
    memset(&fake, 0, sizeof fake);
    memset(&os_counts, 0, sizeof os_counts);
    memcpy(&limit, &untouched, sizeof limit);
    fake.now = 5 * (uint64_t)LIMIT_SECOND;
    fake.high = fake.most = OS_NO_LIMIT;
    fake.id = 9;
    return 0;
}

static void limit_none_means_nothing_is_counted(void **state) {
    (void)state;
    limit_configure(0, 0, 0);
    assert_true(limit_take(SIZE_MAX));
    limit_give(7);
    assert_int_equal(limit.held, 0);
    assert_false(limit_near());
    assert_int_equal(limit_keep(MIB, GIB), MIB);
    assert_true(limit_may_purge());
    assert_int_equal(fake.reads, 0);
}

static void limit_P1_refuses_beyond_the_hard_limit(void **state) {
    (void)state;
    fake.records = 100;
    limit_configure(1000, 0, 0);
    assert_true(limit_take(600));
    assert_false(limit_take(301));
    assert_true(limit_take(300));
    assert_false(limit_take(1));
    assert_false(limit_take(SIZE_MAX));
    assert_int_equal(limit.refusals, 3);
    assert_int_equal(limit.held, 900);
    limit_give(500);
    assert_true(limit_take(500));
    limit_give(900);
    fake.records = 2000; /* records are never refused, but they count */
    assert_false(limit_take(1));
    assert_false(limit_near()); /* a hard limit alone changes nothing about what is kept */
    assert_int_equal(limit_keep(MIB, GIB), MIB);
}

static void *take_and_give(void *most) {
    size_t taken = 0;
    for (int i = 0; i < 20000; i++) {
        if (limit_take(3))
            taken += 3;
        if (limit.held > *(const size_t *)most)
            return NULL;
        if (i % 3 == 0 && taken >= 3) {
            limit_give(3);
            taken -= 3;
        }
    }
    limit_give(taken);
    return most;
}

static void limit_P1_holds_for_threads_at_once(void **state) {
    (void)state;
    size_t most = 10000;
    pthread_t threads[4];
    limit_configure(most, 0, 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, &most), 0);
    for (int i = 0; i < 4; i++) {
        void *good;
        pthread_join(threads[i], &good);
        assert_ptr_equal(good, &most);
    }
    assert_int_equal(limit.held, 0);
    assert_true(limit.refusals > 0);
}

static void limit_P2_keeps_what_fits_below_the_soft_limit(void **state) {
    (void)state;
    limit_configure(0, 800, 0);
    assert_true(limit_take(700));
    assert_false(limit_near());
    assert_int_equal(limit_keep(500, 300), 500);
    assert_true(limit_take(100)); /* a soft limit never refuses */
    assert_true(limit_near());
    assert_int_equal(limit_keep(500, 300), 200);
    assert_int_equal(limit_keep(150, 300), 150);
    assert_int_equal(limit_keep(500, 50), 0);
    fake.records = 150;
    assert_int_equal(limit_keep(500, 300), 50);
    assert_true(limit_take(10000));
    assert_int_equal(limit_keep(500, 300), 0);
    assert_int_equal(limit.refusals, 0);
}

static void limit_P2_pressure_counts_for_a_while(void **state) {
    (void)state;
    limit_configure(0, 0, 0);
    limit_note_pressure();
    assert_true(limit_near());
    assert_int_equal(limit_keep(500, 300), 0);
    fake.now += LIMIT_PRESSURE - 1;
    assert_true(limit_near());
    limit_note_pressure();
    fake.now += 2;
    assert_true(limit_near());
    fake.now += LIMIT_PRESSURE;
    assert_int_equal(limit_keep(500, 300), 500);
    assert_false(limit_near());
    assert_false(limit.watching); /* and costs one load again */
    limit_configure(0, 800, 0);
    limit_note_pressure();
    fake.now += LIMIT_PRESSURE + 1;
    assert_false(limit_near());
    assert_true(limit.watching);
}

static void limit_P3_the_cgroup_is_read_once_a_second(void **state) {
    (void)state;
    fake.most = 1600;
    limit_configure(0, LIMIT_CGROUP, 0);
    assert_int_equal(fake.reads, 2);
    assert_int_equal(limit.near_from, 1400);
    assert_true(limit_take(1000));
    for (int i = 0; i < 10; i++)
        assert_false(limit_near());
    fake.high = 800;
    fake.now += LIMIT_SECOND - 1;
    assert_false(limit_near());
    assert_int_equal(fake.reads, 2);
    fake.now += 1;
    assert_true(limit_near());
    assert_int_equal(limit.near_from, 700);
    assert_int_equal(fake.reads, 4);
    fake.high = fake.most = OS_NO_LIMIT;
    fake.now += LIMIT_SECOND;
    assert_false(limit_near());
    assert_int_equal(limit_keep(500, 300), 500);
    limit_print();
    assert_non_null(strstr(fake.line, "no cgroup v2"));
    fake.most = 8 * KIB; /* it comes later */
    fake.now += LIMIT_SECOND;
    assert_true(limit_take(8 * KIB));
    assert_true(limit_near());
    limit_print();
    assert_non_null(strstr(fake.line, "7 KiB"));
}

static void limit_P4_a_budget_a_second(void **state) {
    (void)state;
    limit_configure(0, 0, 3);
    for (int second = 0; second < 5; second++, fake.now += LIMIT_SECOND) {
        for (int i = 0; i < 3; i++)
            assert_true(limit_budget_left() && limit_may_purge());
        assert_false(limit_may_purge() || limit_budget_left());
        fake.now += 10;
        assert_false(limit_may_purge());
    }
    assert_true(limit_may_purge());
    fake.now -= LIMIT_SECOND; /* a thread that looked at the clock before */
    assert_true(limit_may_purge());
    assert_true(limit_may_purge());
    assert_false(limit_may_purge());
}

static void limit_P4_is_lifted_for_who_waits(void **state) {
    (void)state;
    limit_configure(0, 0, 1);
    limit_lift_budget(true);
    for (int i = 0; i < 10; i++)
        assert_true(limit_may_purge());
    limit_lift_budget(false);
    assert_true(limit_may_purge());
    assert_false(limit_may_purge());
}

static void limit_wants_a_drain_for_each_step_above(void **state) {
    (void)state;
    limit_configure(0, 8 * LIMIT_STEP, 0);
    assert_true(limit_take(7 * LIMIT_STEP));
    assert_int_equal(limit_wants_drain(), 0);
    assert_true(limit_take(1));
    assert_int_equal(limit_wants_drain(), LIMIT_STEP); /* what is below is no growth */
    limit_note_drained();
    assert_true(limit_take(LIMIT_STEP - 1));
    assert_int_equal(limit_wants_drain(), 0);
    assert_true(limit_take(1));
    assert_int_equal(limit_wants_drain(), LIMIT_STEP);
    limit_give(2 * LIMIT_STEP);
    assert_int_equal(limit_wants_drain(), 0); /* from here it is counted again */
    assert_true(limit_take(LIMIT_STEP));
    assert_int_equal(limit_wants_drain(), LIMIT_STEP);
    assert_true(limit_take(4 * LIMIT_STEP));
    assert_int_equal(limit_wants_drain(), 4 * LIMIT_STEP + 1);
}

static void limit_hold_counts_whatever_the_limit(void **state) {
    (void)state;
    limit_hold(10);
    assert_int_equal(limit.held, 0);
    limit_configure(100, 0, 0);
    limit_hold(150);
    assert_false(limit_take(1));
    limit_give(100);
    assert_true(limit_take(50));
}

/* Calls that may make a mapping. */
static void count_after(unsigned calls) {
    os_counts.map += calls;
    limit_count_mappings();
}

static void limit_P5_splits_nothing_above_four_fifths(void **state) {
    (void)state;
    fake.allowed = 10000;
    fake.mappings = 5000;
    limit_count_mappings();
    assert_int_equal(fake.counts, 0);
    os_counts.map = LIMIT_FIRST_LOOK - 1;
    os_counts.unmap = 1;
    limit_count_mappings();
    assert_int_equal(fake.counts, 1);
    assert_true(limit_may_split());
    os_counts.map += 1499;
    fake.mappings = 7999;
    limit_count_mappings();
    assert_int_equal(fake.counts, 1);
    count_after(1);
    assert_int_equal(fake.counts, 2);
    assert_true(limit_may_split());
    fake.mappings = 8000;
    count_after(LIMIT_NEXT_LOOK);
    assert_false(limit_may_split());
    assert_int_equal(fake.lines, 1);
    count_after(LIMIT_NEXT_LOOK);
    assert_false(limit_may_split());
    fake.mappings = 10;
    count_after(LIMIT_NEXT_LOOK);
    assert_true(limit_may_split());
    fake.mappings = 9000;
    count_after(LIMIT_FIRST_LOOK * 2);
    assert_false(limit_may_split());
    assert_int_equal(fake.lines, 1); /* said once */
    assert_int_equal(fake.asked, 1);
    int counts = fake.counts;
    os_counts.remap += LIMIT_FIRST_LOOK; /* a part that moves is a mapping more, too */
    limit_count_mappings();
    assert_int_equal(fake.counts, counts + 1);
    os_counts.advise += LIMIT_NEXT_LOOK + 1; /* what gives memory back splits nothing */
    os_counts.decommit += LIMIT_NEXT_LOOK;
    limit_count_mappings();
    assert_int_equal(fake.counts, counts + 1);
    os_counts.advise += LIMIT_NEXT_LOOK / 2; /* other advice may make two more */
    limit_count_mappings();
    assert_int_equal(fake.counts, counts + 2);
}

/* Who looks may be held up, or may have been left behind by a fork. */
static void limit_P5_waits_for_a_look_only_while_there_is_room(void **state) {
    (void)state;
    fake.allowed = 10000;
    fake.mappings = 5000;
    os_counts.map = LIMIT_FIRST_LOOK;
    limit_count_mappings();
    assert_int_equal(fake.counts, 1);
    limit.count_at = UINT64_MAX;
    fake.mappings = 8000;
    count_after(2999);
    assert_int_equal(fake.counts, 1);
    count_after(1);
    assert_int_equal(fake.counts, 2);
    assert_false(limit_may_split());
    assert_int_equal(limit.count_at, LIMIT_FIRST_LOOK + 3000 + LIMIT_NEXT_LOOK);
}

/* Which kills for opening a file. */
static void limit_P5_counts_nothing_under_a_filter_that_was_told_of(void **state) {
    (void)state;
    fake.allowed = 10000;
    fake.mappings = 9000;
    fake.filtered = true;
    os_counts.map = LIMIT_FIRST_LOOK;
    limit_count_mappings();
    os_counts.map += LIMIT_FIRST_LOOK;
    limit_count_mappings();
    assert_int_equal(fake.counts + fake.asked, 0);
    assert_true(limit_may_split());
}

static void limit_P5_without_proc_splits_as_ever(void **state) {
    (void)state;
    os_counts.map = LIMIT_FIRST_LOOK;
    limit_count_mappings();
    assert_true(limit_may_split());
    assert_int_equal(fake.counts, 0);
    fake.allowed = 100;
    os_counts.map += LIMIT_NEXT_LOOK;
    limit_count_mappings();
    assert_true(limit_may_split()); /* the sysctl can be read, the mappings cannot */
}

static void limit_pressure_file_is_opened_once(void **state) {
    (void)state;
    assert_int_equal(limit_pressure_fd(), 123);
    assert_int_equal(limit_pressure_fd(), 123);
    assert_int_equal(fake.opened, 1);
    assert_string_equal(fake.paths, "/cgroup/0/memory.pressure ");
    fake.id = 10; /* the program has put another file there */
    assert_int_equal(limit_pressure_fd(), -1);
    assert_int_equal(limit_pressure_fd(), -1);
    assert_int_equal(fake.opened, 1);
}

static void limit_pressure_is_that_of_the_smallest_limit(void **state) {
    (void)state;
    fake.high = 2 * GIB, fake.high_above = 1;
    fake.most = GIB, fake.most_above = 3;
    assert_int_equal(limit_pressure_fd(), 123);
    assert_string_equal(fake.paths, "/cgroup/3/memory.pressure ");
    setup(NULL);
    fake.high = GIB, fake.high_above = 1;
    fake.most = 2 * GIB, fake.most_above = 3;
    fake.refuse_open = 2; /* then the own cgroup's, then the machine's */
    assert_int_equal(limit_pressure_fd(), 123);
    assert_string_equal(fake.paths,
                        "/cgroup/1/memory.pressure /cgroup/0/memory.pressure /proc/pressure/memory ");
}

static void limit_rest_ends_with_pressure(void **state) {
    _Atomic uint32_t word = 3;
    (void)state;
    limit_configure(0, 0, 0);
    limit_rest(&word, 3, 7);
    assert_int_equal(fake.opened, 0); /* nobody wants to know */
    assert_int_equal(fake.slept, 7);
    limit_configure(0, GIB, 0);
    limit_rest(&word, 3, 7);
    assert_int_equal(fake.opened, 1);
    assert_false(limit_near());
    fake.fires = true;
    limit_rest(&word, 3, 7);
    assert_true(limit_near());
    fake.id = 10; /* closed */
    limit_rest(&word, 3, 7);
    assert_int_equal(fake.slept, 14);
}

/* However long it is: nobody can wake who waits for a file, so that it looks at the word again and again. */
static void limit_rest_ends_when_the_word_changes(void **state) {
    _Atomic uint32_t word = 3;
    (void)state;
    limit_configure(0, GIB, 0);
    fake.changes = &word;
    fake.waits = 0;
    limit_rest(&word, 3, 3600 * (uint64_t)LIMIT_SECOND);
    assert_in_range(fake.waits, 1, 3);
    word = 3;
    fake.changes = NULL;
    fake.waits = 0;
    limit_rest(&word, 3, 5 * (uint64_t)LIMIT_SECOND / 2);
    assert_int_equal(fake.waits, 3);
}

static void limit_child_has_a_pressure_file_of_its_own(void **state) {
    (void)state;
    limit_in_child();
    assert_int_equal(fake.opened + fake.closed, 0);
    assert_int_equal(limit_pressure_fd(), 123);
    limit_in_child();
    assert_int_equal(fake.closed, 1);
    fake.opened = 0;
    assert_int_equal(limit_pressure_fd(), 123);
    assert_int_equal(fake.opened, 1);
    fake.id++; /* the program's own by now: not ours to close */
    limit_in_child();
    assert_int_equal(fake.closed, 1);
}

static void limit_pressure_is_absent_where_it_is_refused(void **state) {
    (void)state;
    fake.refuse_open = 1;
    assert_int_equal(limit_pressure_fd(), 123);
    assert_string_equal(fake.paths, "/cgroup/0/memory.pressure /proc/pressure/memory ");
    setup(NULL);
    fake.refuse_open = 2;
    assert_int_equal(limit_pressure_fd(), -1);
    assert_int_equal(limit_pressure_fd(), -1);
    assert_int_equal(fake.opened, 2);
    assert_int_equal(fake.lines, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(limit_none_means_nothing_is_counted, setup),
        cmocka_unit_test_setup(limit_P1_refuses_beyond_the_hard_limit, setup),
        cmocka_unit_test_setup(limit_P1_holds_for_threads_at_once, setup),
        cmocka_unit_test_setup(limit_P2_keeps_what_fits_below_the_soft_limit, setup),
        cmocka_unit_test_setup(limit_P2_pressure_counts_for_a_while, setup),
        cmocka_unit_test_setup(limit_P3_the_cgroup_is_read_once_a_second, setup),
        cmocka_unit_test_setup(limit_P4_a_budget_a_second, setup),
        cmocka_unit_test_setup(limit_P4_is_lifted_for_who_waits, setup),
        cmocka_unit_test_setup(limit_wants_a_drain_for_each_step_above, setup),
        cmocka_unit_test_setup(limit_hold_counts_whatever_the_limit, setup),
        cmocka_unit_test_setup(limit_P5_splits_nothing_above_four_fifths, setup),
        cmocka_unit_test_setup(limit_P5_waits_for_a_look_only_while_there_is_room, setup),
        cmocka_unit_test_setup(limit_P5_counts_nothing_under_a_filter_that_was_told_of, setup),
        cmocka_unit_test_setup(limit_P5_without_proc_splits_as_ever, setup),
        cmocka_unit_test_setup(limit_pressure_file_is_opened_once, setup),
        cmocka_unit_test_setup(limit_pressure_is_that_of_the_smallest_limit, setup),
        cmocka_unit_test_setup(limit_rest_ends_with_pressure, setup),
        cmocka_unit_test_setup(limit_rest_ends_when_the_word_changes, setup),
        cmocka_unit_test_setup(limit_child_has_a_pressure_file_of_its_own, setup),
        cmocka_unit_test_setup(limit_pressure_is_absent_where_it_is_refused, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
