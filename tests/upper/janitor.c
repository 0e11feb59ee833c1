/* Unit tests of janitor: what purge finds is a script; the thread, the clock and the futex are real. */
#include "../../src/janitor.c"

#include "unit/unit.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

struct heap heap_none;
THREAD_LOCAL struct heap_current heap_current = {&heap_none, HEAP_NO_TAG};
size_t purge_keep_free = SIZE_MAX;

struct limit limit; /* there is none */

bool limit_near_now(void) {
    fail();
    return true;
}

void limit_rest(uint64_t ns) {
    static _Atomic uint32_t never;
    os_wait_for(&never, 0, ns);
}

void limit_in_child(void) {
}

size_t purge_all(void) {
    fail();
    return 0;
}

static struct {
    _Atomic unsigned looks, looks_here, steps;
    _Atomic size_t waiting; /* bytes, a MiB less after each look */
    _Atomic bool unsettled; /* there is always something that may go home later */
    _Atomic pthread_t looker;
    _Atomic bool blocked; /* the looker has all signals blocked */
} fake;

static struct heap mine;
static _Atomic size_t taken, given, touched;
static _Atomic bool several_threads;

size_t superslab_mapped_bytes(void) {
    return taken;
}

size_t superslab_free_bytes(void) {
    return given;
}

size_t heap_touched_bytes(void) {
    return touched;
}

bool heap_can_reach(void) {
    return several_threads;
}

size_t superslab_dirty_bytes(void) {
    return fake.waiting;
}

size_t purge_waiting_bytes(void) {
    return fake.waiting;
}

void purge_step(void) {
    fake.steps++;
}

struct purge_looked purge_look(void) {
    sigset_t set;
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    fake.blocked = sigismember(&set, SIGTERM) == 1;
    fake.looker = pthread_self();
    struct purge_looked looked = {.bytes = fake.waiting < MIB ? fake.waiting : MIB};
    fake.waiting -= looked.bytes;
    looked.later = fake.waiting > 0 || fake.unsettled;
    fake.looks++;
    return looked;
}

void purge_look_here(void) {
    fake.looks_here++;
}

static const void *outside(void) {
    return (const void *)(uintptr_t)&outside;
}

static int setup(void **state) {
    (void)state;
    memset(&fake, 0, sizeof fake);
    mine.flushed = mine.flushed_before = 0;
    heap_current.heap = &mine;
    taken = given = 0;
    touched = 2 * JANITOR_LEAST;
    several_threads = false;
    janitor_configure(1, false);
    return 0;
}

/* Waits until the value is there; a loaded machine may take its time. */
static void await_looks(unsigned least) {
    for (int ms = 0; fake.looks < least; ms++) {
        if (ms > 60000)
            fail_msg("%u looks, not %u", fake.looks, least);
        usleep(1000);
    }
}

static void await_sleep(void) {
    for (int ms = 0; atomic_load(&janitor_awake); ms++) {
        if (ms > 60000)
            fail_msg("it does not go to sleep");
        usleep(1000);
    }
}

static void janitor_slow_paths_stand_in(void **state) {
    (void)state;
    fake.waiting = JANITOR_LEAST / 2;
    janitor_after_free(outside());
    assert_int_equal(fake.looks_here, 0); /* not worth it */
    mine.flushed += JANITOR_LEAST;
    janitor_after_free(outside());
    assert_int_equal(fake.looks_here, 1);
    janitor_after_free(outside()); /* nothing more was freed */
    assert_int_equal(fake.looks_here, 1);
    janitor_configure(3600000, false);
    mine.flushed += JANITOR_LEAST;
    janitor_after_free(outside()); /* the delay has not passed */
    assert_int_equal(fake.looks_here, 1);
    janitor_configure(0, true);
    mine.flushed += 10 * JANITOR_LEAST;
    janitor_after_free(outside()); /* switched off */
    assert_int_equal(fake.looks_here + fake.looks, 1);
    purge_keep_free = 0;
    janitor_after_free(outside());
    assert_int_equal(fake.steps, 1);
    purge_keep_free = SIZE_MAX;
}

static void janitor_P2_is_not_started_from_inside_libc(void **state) {
    (void)state;
    janitor_configure(1, true);
    fake.waiting = 5 * JANITOR_LEAST;
    janitor_after_free((const void *)(uintptr_t)&pthread_attr_setstacksize);
    janitor_after_free((const void *)getauxval(AT_BASE));
    assert_int_equal(fake.looks, 0);
    assert_int_equal(atomic_load(&janitor.state), JANITOR_NONE);
}

static void janitor_P1_P3_looks_until_nothing_is_left_and_sleeps(void **state) {
    (void)state;
    janitor_configure(1, true);
    fake.waiting = 5 * JANITOR_LEAST;
    errno = 77;
    janitor_after_free(outside());
    assert_int_equal(errno, 77); /* P3 */
    await_looks(5);
    await_sleep();
    unsigned looks = fake.looks;
    assert_in_range(looks, 5, 6);
    assert_false(pthread_equal(fake.looker, pthread_self()));
    assert_true(fake.blocked);
    usleep(50000);
    assert_int_equal(fake.looks, looks);
    fake.waiting = JANITOR_LEAST;
    janitor_after_free(outside()); /* again */
    await_looks(looks + 1);
    await_sleep();
    assert_int_equal(fake.looks_here, 0);
}

static void janitor_looks_after_what_threads_have_taken(void **state) {
    (void)state;
    taken = 2 * JANITOR_LEAST;
    janitor_after_take(outside()); /* there is no thread */
    janitor_configure(1, true);
    taken = given = 10 * JANITOR_LEAST;
    janitor_after_take(outside()); /* fewer are in use than then */
    taken = 13 * JANITOR_LEAST + 1;
    janitor_after_take(outside()); /* a program of one thread */
    assert_int_equal(fake.looks + fake.looks_here, 0);
    several_threads = true;
    janitor_after_take(outside()); /* no more than when it asked last */
    assert_int_equal(fake.looks, 0);
    taken += JANITOR_LEAST + 1;
    janitor_after_take(outside());
    await_looks(1);
    await_sleep();
    unsigned looks = fake.looks;
    for (int ms = 0; fake.looks == looks && ms < 60000; ms++) { /* it may still be about to go to sleep */
        taken += JANITOR_LEAST + 1;
        janitor_after_take(outside());
        usleep(1000);
    }
    assert_int_not_equal(fake.looks, looks);
    await_sleep();
}

static void janitor_is_not_started_for_a_small_process(void **state) {
    (void)state;
    janitor_configure(1, true);
    several_threads = true;
    touched = JANITOR_LEAST / 2;
    for (int i = 0; i < 10; i++) {
        mine.flushed += 10 * JANITOR_LEAST; /* the same blocks, over and over */
        taken += 10 * JANITOR_LEAST;
        janitor_after_free(outside());
        janitor_after_take(outside());
    }
    assert_int_equal(atomic_load(&janitor.state), JANITOR_NONE);
    assert_int_equal(fake.looks_here, 0);
    fake.waiting = JANITOR_LEAST / 2; /* which is not in slabs */
    janitor_after_free(outside());
    await_looks(1);
    await_sleep();
}

static void janitor_gives_up_what_never_rests(void **state) {
    (void)state;
    janitor_configure(1, true);
    fake.unsettled = true;
    mine.flushed += JANITOR_LEAST;
    janitor_after_free(outside());
    await_looks(PATIENCE);
    await_sleep();
    assert_int_equal(fake.looks, PATIENCE);
}

static void janitor_is_started_anew_in_a_child(void **state) {
    (void)state;
    janitor_configure(1, true);
    janitor_in_child();
    assert_int_equal(atomic_load(&janitor.state), JANITOR_NONE);
    assert_false(atomic_load(&janitor_awake));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(janitor_slow_paths_stand_in, setup),
        cmocka_unit_test_setup(janitor_P2_is_not_started_from_inside_libc, setup),
        cmocka_unit_test_setup(janitor_is_not_started_for_a_small_process, setup),
        cmocka_unit_test_setup(janitor_P1_P3_looks_until_nothing_is_left_and_sleeps, setup),
        cmocka_unit_test_setup(janitor_looks_after_what_threads_have_taken, setup),
        cmocka_unit_test_setup(janitor_gives_up_what_never_rests, setup),
        cmocka_unit_test_setup(janitor_is_started_anew_in_a_child, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
