/* Unit tests of lock, built with the box asserts open. The fakes count waits and wakes, and a broken promise
 * jumps back into the test. */
#include "base.h"
#include "os.h"
#include "lock.h"
#include "unit.h"

#include <pthread.h>
#include <sched.h>

#define THREADS 4
#define ROUNDS 5000

static struct {
    _Atomic int waits;
    _Atomic int wakes;
    bool opens; /* the next wait finds the lock released */
    const char *broken;
    jmp_buf back;
} fake;

_Atomic unsigned os_cpus;

void os_wait(_Atomic uint32_t *word, uint32_t expected) {
    (void)expected;
    atomic_fetch_add(&fake.waits, 1);
    if (fake.opens)
        atomic_store(word, 0);
    sched_yield();
}

void os_wake(_Atomic uint32_t *word, unsigned waiters) {
    (void)word;
    (void)waiters;
    atomic_fetch_add(&fake.wakes, 1);
}

_Noreturn void base_assert_failed(const char *promise, const char *expression, const char *file, int line) {
    (void)expression;
    (void)file;
    (void)line;
    fake.broken = promise;
    longjmp(fake.back, 1);
}

static int setup(void **state) {
    (void)state;
    atomic_store(&fake.waits, 0);
    atomic_store(&fake.wakes, 0);
    atomic_store(&os_cpus, 0);
    fake.opens = false;
    fake.broken = NULL;
    return 0;
}

static void lock_P1_ranks_fall(void **state) {
    (void)state;
    struct lock high = LOCK_INITIAL(9), low = LOCK_INITIAL(3);
    lock_take(&high);
    lock_take(&low);
    lock_release(&low);
    lock_release(&high);
    lock_take(&low);
    if (setjmp(fake.back) == 0)
        lock_take(&high);
    assert_string_equal(fake.broken, "P1");
    lock_release(&low);
}

static void lock_P1_two_locks_of_one_rank_are_refused(void **state) {
    (void)state;
    struct lock one = LOCK_INITIAL(5), other = LOCK_INITIAL(5);
    lock_take(&one);
    if (setjmp(fake.back) == 0)
        lock_take(&other);
    assert_string_equal(fake.broken, "P1");
    lock_release(&one);
}

static void lock_a_free_lock_costs_no_system_call(void **state) {
    (void)state;
    struct lock lock = LOCK_INITIAL(3);
    for (int i = 0; i < 100; i++) {
        lock_take(&lock);
        assert_false(lock_try(&lock));
        lock_release(&lock);
        assert_true(lock_try(&lock));
        lock_release(&lock);
    }
    assert_int_equal(atomic_load(&fake.waits) + atomic_load(&fake.wakes), 0);
}

static void lock_release_wakes_who_sleeps(void **state) {
    (void)state;
    struct lock lock = LOCK_INITIAL(3);
    lock_take(&lock);
    atomic_store(&lock.state, 2);
    lock_release(&lock);
    assert_int_equal(atomic_load(&fake.wakes), 1);
    assert_int_equal(atomic_load(&lock.state), 0);
}

static void lock_P2_a_held_lock_is_waited_for(void **state) {
    (void)state;
    struct lock lock = LOCK_INITIAL(3);
    atomic_store(&lock.state, 1);
    fake.opens = true;
    assert_true(lock_take(&lock));
    assert_int_equal(atomic_load(&fake.waits), 1);
    assert_int_equal(atomic_load(&lock.state), 2);
    lock_release(&lock);
    assert_int_equal(atomic_load(&fake.wakes), 1);
    assert_false(lock_take(&lock));
    lock_release(&lock);
}

/* With one CPU nobody can release it while we spin; the fakes see the same either way: it ends in the wait. */
static void lock_P2_one_cpu_waits_at_once(void **state) {
    (void)state;
    struct lock lock = LOCK_INITIAL(3);
    atomic_store(&os_cpus, 1);
    atomic_store(&lock.state, 1);
    fake.opens = true;
    lock_take(&lock);
    assert_int_equal(atomic_load(&fake.waits), 1);
    lock_release(&lock);
}

static void lock_P2_release_without_take_is_noticed(void **state) {
    (void)state;
    struct lock lock = LOCK_INITIAL(3);
    if (setjmp(fake.back) == 0)
        lock_release(&lock);
    assert_string_equal(fake.broken, "P2");
}

static struct lock shared = LOCK_INITIAL(4);
static long counter;

static void *add(void *unused) {
    for (int i = 0; i < ROUNDS; i++) {
        lock_take(&shared);
        counter++;
        lock_release(&shared);
    }
    return unused;
}

static void lock_P2_one_thread_at_a_time(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(counter, THREADS * ROUNDS);
    assert_int_equal(atomic_load(&shared.state), 0);
}

static void *try_once(void *lock) {
    return lock_try(lock) ? lock : NULL;
}

static void lock_P3_only_the_forking_thread_passes_through(void **state) {
    (void)state;
    struct lock lock = LOCK_INITIAL(3);
    pthread_t other;
    void *got = &lock;
    lock_take(&lock);
    lock_forking(true);
    lock_take(&lock);
    lock_release(&lock);
    assert_true(lock_try(&lock));
    assert_int_equal(pthread_create(&other, NULL, try_once, &lock), 0);
    pthread_join(other, &got);
    assert_null(got);
    lock_forking(false);
    assert_false(lock_try(&lock));
    lock_release(&lock);
    assert_true(lock_try(&lock));
    lock_release(&lock);
}

/* Also of one that is only tried; and of the calling thread only. */
static void *holds_any(void *lock) {
    return lock_holds_any() ? lock : NULL;
}

static void lock_says_whether_the_thread_holds_any(void **state) {
    (void)state;
    struct lock high = LOCK_INITIAL(9), low = LOCK_INITIAL(3);
    pthread_t other;
    void *got = &low;
    assert_false(lock_holds_any());
    lock_take(&high);
    assert_true(lock_try(&low));
    lock_release(&high);
    assert_true(lock_holds_any());
    assert_int_equal(pthread_create(&other, NULL, holds_any, &low), 0);
    pthread_join(other, &got);
    assert_null(got);
    lock_release(&low);
    assert_false(lock_holds_any());
    atomic_store(&low.state, 1);
    assert_false(lock_try(&low));
    assert_false(lock_holds_any());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(lock_P1_ranks_fall, setup),
        cmocka_unit_test_setup(lock_P1_two_locks_of_one_rank_are_refused, setup),
        cmocka_unit_test_setup(lock_a_free_lock_costs_no_system_call, setup),
        cmocka_unit_test_setup(lock_release_wakes_who_sleeps, setup),
        cmocka_unit_test_setup(lock_P2_a_held_lock_is_waited_for, setup),
        cmocka_unit_test_setup(lock_P2_one_cpu_waits_at_once, setup),
        cmocka_unit_test_setup(lock_P2_release_without_take_is_noticed, setup),
        cmocka_unit_test_setup(lock_P2_one_thread_at_a_time, setup),
        cmocka_unit_test_setup(lock_P3_only_the_forking_thread_passes_through, setup),
        cmocka_unit_test_setup(lock_says_whether_the_thread_holds_any, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
