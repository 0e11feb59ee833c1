/* Unit tests of favour: threads with seats, a visitor without one, and a kernel that refuses barriers or filters calls. */
#include "favour.h"

#include "os.h"
#include "unit/unit.h"
#include "../kernel_call.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static struct {
    bool filtered, refuses; /* what the kernel says to PR_GET_SECCOMP, and to membarrier */
    unsigned threads;       /* ... and of /proc/self/task */
    _Atomic unsigned asked; /* for a filter */
    _Atomic unsigned barriers, sleeps;
} fake;

#undef syscall
long syscall(long number, ...);
long fake_syscall(long number, ...);

long fake_syscall(long number, ...) {
    long words[6];
    KERNEL_WORDS(words, number);
    if (number == SYS_prctl && words[0] == PR_GET_SECCOMP) {
        fake.asked++;
        return fake.filtered ? 2 : 0;
    }
    if (number == SYS_membarrier) {
        atomic_fetch_add(&fake.barriers, 1);
        if (fake.refuses) {
            errno = ENOSYS;
            return -1;
        }
    }
    if (number == SYS_futex)
        atomic_fetch_add(&fake.sleeps, 1);
    if (number == SYS_newfstatat) {
        ((struct stat *)words[2])->st_nlink = fake.threads + 2;
        return 0;
    }
    return syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

static struct favour favour;
static struct favour_seat seats[3];
static struct {
    uint64_t one, other; /* always equal outside; plain, so that ThreadSanitizer looks on */
} shared;

static int setup(void **state) {
    (void)state;
    favour = (struct favour)FAVOUR_INITIAL(7);
    favour_seat = &seats[0];
    fake.filtered = fake.refuses = false;
    return 0;
}

static void *nothing(void *unused) {
    return unused;
}

/* The first of all tests: what was asked for stays. */
static void favour_asks_beforehand_while_there_is_one_thread(void **state) {
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, nothing, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0); /* libc does not know any more */
    fake.threads = 2;
    favour_prepare(true);
    assert_int_equal(fake.asked, 0); /* for a filter: one may kill for that */
    fake.threads = 1;
    favour_prepare(false);
    assert_int_equal(fake.asked, 0);
    fake.filtered = true;
    favour_prepare(true);
    assert_int_equal(fake.asked, 1);
    assert_int_equal(atomic_load(&fake.barriers), 0);
    assert_true(os_inherits_filter()); /* it was there first */
    fake.filtered = false;
    favour_prepare(true);
    assert_int_equal(atomic_load(&fake.barriers), 1);
    assert_true(os_barrier_ready());
    favour_prepare(true);
    assert_int_equal(atomic_load(&fake.barriers), 1);
}

static bool is_favourite(const struct favour_seat *seat) {
    return atomic_load(&favour.favourite) == seat;
}

static void turn(void) {
    favour_take(&favour);
    shared.one++;
    assert_int_equal(shared.one, shared.other + 1); /* nobody else is inside */
    shared.other++;
    favour_release(&favour);
}

static void turns(unsigned count) {
    while (count-- > 0)
        turn();
}

/* Makes the calling thread the favourite; skips where there is no membarrier. */
static void become_favourite(void) {
    if (!os_barrier_everywhere())
        skip();
    turns(FAVOUR_FROM);
    assert_true(is_favourite(favour_seat));
}

struct errand {
    struct favour_seat *seat;
    unsigned turns;
};

static void *run_errand(void *data) {
    const struct errand *errand = data;
    favour_seat = errand->seat;
    turns(errand->turns);
    return NULL;
}

static void in_another_thread(struct errand errand) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_errand, &errand), 0);
    pthread_join(thread, NULL);
}

static void favour_P1_threads_are_never_inside_together(void **state) {
    (void)state;
    pthread_t threads[3];
    struct errand errands[3] = {{&seats[1], 30000}, {&seats[2], 30000}, {NULL, 300}};
    uint64_t before = shared.one;
    become_favourite();
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_errand, &errands[i]), 0);
    turns(30000);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(shared.one - before, FAVOUR_FROM + 90300);
}

static _Atomic bool entered;

static void *enter(void *seat) {
    favour_seat = seat;
    favour_take(&favour);
    atomic_store(&entered, true);
    favour_release(&favour);
    return NULL;
}

/* The favourite is inside when the other comes, and does nothing until that one sleeps. */
static void favour_P1_who_comes_waits_until_the_seat_is_left(void **state) {
    (void)state;
    pthread_t other;
    become_favourite();
    favour_take(&favour);
    atomic_store(&fake.sleeps, 0);
    assert_int_equal(pthread_create(&other, NULL, enter, &seats[1]), 0);
    while (!atomic_load(&entered) && atomic_load(&fake.sleeps) == 0)
        sched_yield();
    assert_false(atomic_load(&entered));
    favour_release(&favour);
    pthread_join(other, NULL);
    assert_true(atomic_load(&entered));
}

static void favour_P1_a_favourite_takes_no_lock(void **state) {
    (void)state;
    become_favourite();
    favour_take(&favour);
    assert_int_equal(atomic_load(&favour.lock.state), 0);
    assert_int_equal(atomic_load(&seats[0].busy), 1);
    favour_release(&favour);
    assert_int_equal(atomic_load(&seats[0].busy), 0);
}

static void favour_P2_who_loses_it_needs_twice_as_many_turns(void **state) {
    (void)state;
    become_favourite();
    in_another_thread((struct errand){&seats[1], 1});
    assert_true(is_favourite(NULL));
    assert_int_equal(favour.needed, 2 * FAVOUR_FROM);
    turns(2 * FAVOUR_FROM - 1);
    assert_true(is_favourite(NULL));
    turn();
    assert_true(is_favourite(&seats[0]));
    favour.needed = FAVOUR_MOST;
    in_another_thread((struct errand){&seats[1], 1});
    assert_int_equal(favour.needed, FAVOUR_MOST);
}

static void favour_is_given_back_by_visitors(void **state) {
    (void)state;
    become_favourite();
    in_another_thread((struct errand){NULL, 100});
    assert_true(is_favourite(&seats[0]));
    assert_int_equal(favour.needed, FAVOUR_FROM);
}

/* Threads that take turns are noticed, until one of them is alone at it, or a fork leaves one. */
static void favour_knows_of_turns(void **state) {
    (void)state;
    for (unsigned i = 0; i < FAVOUR_SHARED; i++) {
        assert_false(favour_is_shared(&favour));
        favour_seat = &seats[i % 2];
        turns(1);
    }
    assert_true(favour_is_shared(&favour));
    favour_end(&favour);
    favour_release(&favour);
    assert_false(favour_is_shared(&favour));
    favour.changes = FAVOUR_SHARED;
    turns(FAVOUR_FROM);
    assert_false(favour_is_shared(&favour));
}

/* Who forks may have no seat: it does not give back what ends. */
static void favour_ends_for_visitors_too(void **state) {
    (void)state;
    become_favourite();
    favour_seat = NULL;
    favour_end(&favour);
    favour_release(&favour);
    assert_true(is_favourite(NULL));
}

static void favour_is_not_for_threads_without_a_seat(void **state) {
    (void)state;
    favour_seat = NULL;
    turns(4 * FAVOUR_FROM);
    assert_true(is_favourite(NULL));
}

static void favour_P3_none_where_calls_are_filtered(void **state) {
    (void)state;
    os_barrier_prepare();
    fake.filtered = true;
    unsigned barriers = atomic_load(&fake.barriers);
    turns(4 * FAVOUR_FROM);
    favour_prepare(true);
    assert_true(is_favourite(NULL));
    assert_int_equal(atomic_load(&fake.barriers), barriers);
}

static void check_that_it_ends(void) {
    in_another_thread((struct errand){&seats[1], 1});
    turns(4 * FAVOUR_FROM);
    assert_true(is_favourite(NULL));
}

static void favour_P3_a_later_filter_ends_it(void **state) {
    (void)state;
    become_favourite();
    fake.filtered = true;
    unsigned barriers = atomic_load(&fake.barriers);
    check_that_it_ends();
    assert_int_equal(atomic_load(&fake.barriers), barriers); /* the filter might have killed */
}

static void favour_P3_a_later_refusal_ends_it(void **state) {
    (void)state;
    become_favourite();
    fake.refuses = true;
    check_that_it_ends();
    fake.refuses = false;
    turns(4 * FAVOUR_FROM);
    assert_true(is_favourite(NULL)); /* for good */
}

static void favour_P3_a_visitor_that_is_refused_gives_nothing_back(void **state) {
    (void)state;
    become_favourite();
    fake.refuses = true;
    in_another_thread((struct errand){NULL, 1});
    assert_true(is_favourite(NULL));
    fake.refuses = false;
    turns(4 * FAVOUR_FROM);
    assert_true(is_favourite(NULL)); /* for good */
}

/* What a fork leaves of a thread that was about to look: its seat is busy for ever. */
static void favour_P4_a_seat_that_died_busy_is_used_again(void **state) {
    (void)state;
    become_favourite();
    favour_end(&favour);
    favour_release(&favour);
    assert_true(is_favourite(NULL));
    atomic_store(&seats[0].busy, 1);
    in_another_thread((struct errand){&seats[1], 1});
    turns(FAVOUR_FROM);
    assert_true(is_favourite(&seats[0]));
    in_another_thread((struct errand){&seats[1], 1}); /* would wait for ever */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(favour_asks_beforehand_while_there_is_one_thread, setup),
        cmocka_unit_test_setup(favour_P1_threads_are_never_inside_together, setup),
        cmocka_unit_test_setup(favour_P1_who_comes_waits_until_the_seat_is_left, setup),
        cmocka_unit_test_setup(favour_P1_a_favourite_takes_no_lock, setup),
        cmocka_unit_test_setup(favour_P2_who_loses_it_needs_twice_as_many_turns, setup),
        cmocka_unit_test_setup(favour_is_given_back_by_visitors, setup),
        cmocka_unit_test_setup(favour_knows_of_turns, setup),
        cmocka_unit_test_setup(favour_ends_for_visitors_too, setup),
        cmocka_unit_test_setup(favour_is_not_for_threads_without_a_seat, setup),
        cmocka_unit_test_setup(favour_P3_none_where_calls_are_filtered, setup),
        cmocka_unit_test_setup(favour_P3_a_later_filter_ends_it, setup),
        cmocka_unit_test_setup(favour_P3_a_later_refusal_ends_it, setup),
        cmocka_unit_test_setup(favour_P3_a_visitor_that_is_refused_gives_nothing_back, setup),
        cmocka_unit_test_setup(favour_P4_a_seat_that_died_busy_is_used_again, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
