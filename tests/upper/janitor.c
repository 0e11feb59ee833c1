/* Unit tests of janitor: what purge finds is a script; the thread, the clock and the futex are real. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "os.h"
#include "unit/unit.h"

/* Stacks smaller than that are refused, as libc does where a program has much static thread-local storage. */
static size_t fake_stack_least;
static unsigned fake_too_many;        /* threads: how often that is said */
static _Atomic unsigned fake_running; /* threads that were started and have not returned */
static _Atomic bool fake_asleep;      /* in the wait that only a call ends */
static void *janitor_run(void *nothing);

/* Release: what the thread did comes before what whoever waits for its end does. */
static void *fake_run_to_the_end(void *data) {
    void *result = janitor_run(data);
    atomic_fetch_sub_explicit(&fake_running, 1, memory_order_release); /* pairs with await_end */
    return result;
}

static int fake_thread(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                       void *data) {
    size_t stack;
    assert_ptr_equal(run, janitor_run);
    errno = EDOM;
    if (fake_too_many > 0) {
        fake_too_many--;
        return EAGAIN;
    }
    pthread_attr_getstacksize(attributes, &stack);
    if (stack < fake_stack_least)
        return EINVAL;
    fake_running++;
    return pthread_create(thread, attributes, fake_run_to_the_end, data);
}

/* False before the thread goes on: who finds it true, after `awake` was 0, finds a thread that has done all it was woken for. */
static void fake_wait_for(_Atomic uint32_t *word, uint32_t expected, uint64_t ns) {
    atomic_store(&fake_asleep, true);
    os_wait_for(word, expected, ns);
    atomic_store(&fake_asleep, false);
}

/* A filter of system calls that was there first, and barriers that were asked for. */
static bool fake_filtered_later;
static _Atomic unsigned fake_barriers;

static bool fake_filtered, fake_inherits; /* from the beginning; by who started the process */

static bool fake_is_filtered(void) {
    return fake_filtered || (fake_filtered_later && fake_running > 0);
}

static bool fake_inherits_filter(void) {
    return fake_inherits;
}

static bool fake_prepare(void) {
    fake_barriers++;
    return true;
}

/* Of libc's word: a program of one thread. */
static bool fake_alone;

static bool fake_silent; /* libc does not tell: the kernel is asked */
static unsigned fake_questions;

static bool fake_libc_tells(void) {
    return !fake_silent;
}

static bool fake_is_alone(bool ask) {
    assert_int_equal(ask, fake_silent);
    fake_questions += ask;
    return fake_alone;
}

/* Whether the program itself asks libc; how often that was asked. */
static bool fake_asks;
static unsigned fake_asked;

static bool fake_program_asks(const struct os_text *libc) {
    assert_ptr_not_equal(libc, NULL);
    fake_asked++;
    return fake_asks;
}

#define os_program_asks_for_threads fake_program_asks
#define pthread_create fake_thread
#define os_wait_for fake_wait_for
#define os_is_filtered fake_is_filtered
#define os_inherits_filter fake_inherits_filter
#define os_barrier_prepare fake_prepare
#define os_is_alone fake_is_alone
#define os_libc_tells fake_libc_tells
#include "../../src/janitor.c"
#undef pthread_create
#undef os_wait_for
#undef os_is_filtered
#undef os_inherits_filter
#undef os_barrier_prepare
#undef os_is_alone
#undef os_libc_tells
#undef os_program_asks_for_threads

#include <string.h>
#include <time.h>
#include <unistd.h>

struct heap heap_none;
THREAD_LOCAL struct heap_current heap_current = {&heap_none, HEAP_NO_TAG};
THREAD_LOCAL struct heap *heap_own, *heap_watched;
size_t purge_keep_free = SIZE_MAX;

struct limit limit;

bool limit_near_now(void) {
    return true;
}

static _Atomic unsigned rests, called_in; /* delays; the one in which somebody calls */

static const void *outside(void) {
    return (const void *)(uintptr_t)&outside;
}

void limit_rest(_Atomic uint32_t *word, uint32_t seen, uint64_t ns) {
    if (++rests == called_in)
        janitor_wake(outside());
    os_wait_for(word, seen, ns);
}

void reach_configure(bool wanted) {
    (void)wanted;
}

void limit_in_child(void) {
}

static struct {
    _Atomic unsigned looks, looks_here, steps, collects;
    _Atomic size_t waiting; /* bytes, a MiB less after each look */
    _Atomic bool unsettled; /* there is always something that may go home later */
    _Atomic unsigned sleepers,
        purges; /* threads that are reached, one in each look; everything goes home at once */
    _Atomic pthread_t looker;
    _Atomic bool blocked;  /* the looker has all signals blocked */
    _Atomic bool prepared; /* barriers were asked for before it looked */
} fake;

/* What is awaited, and looks at it: how often, and after how many it is known. */
_Atomic bool huge_is_awaited;
static _Atomic unsigned ahead, ahead_known;

bool huge_look_ahead(void) {
    return ++ahead < ahead_known;
}

static struct heap mine;
static _Atomic size_t taken, given, touched, staying;
static size_t fallen;
static _Atomic bool several_threads;
bool superslab_has_huge;

size_t superslab_mapped_bytes(void) {
    return taken;
}

size_t superslab_free_bytes(void) {
    return given;
}

size_t heap_touched_bytes(void) {
    return touched;
}

size_t heap_fallen_bytes(struct heap *heap) {
    assert_ptr_equal(heap, &mine);
    return fallen;
}

bool heap_can_reach(void) {
    return several_threads;
}

size_t superslab_dirty_bytes(void) {
    return fake.waiting;
}

size_t superslab_staying_bytes(void) {
    return staying;
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
    fake.prepared = fake_barriers > 0;
    struct purge_looked looked = {.bytes = fake.waiting < MIB ? fake.waiting : MIB};
    fake.waiting -= looked.bytes;
    looked.later = fake.waiting > 0 || fake.unsettled;
    if (fake.sleepers > 0) {
        fake.sleepers--;
        looked.reached = 1;
    }
    fake.looks++;
    return looked;
}

size_t purge_all(void) {
    fake.purges++;
    return 0;
}

void purge_look_here(void) {
    fake.looks_here++;
}

void purge_collect(void) {
    fake.collects++;
}

static int setup(void **state) {
    (void)state;
    memset(&fake, 0, sizeof fake);
    mine.flushed = mine.flushed_before = 0;
    heap_own = &mine;
    taken = given = staying = fallen = 0;
    fake_alone = fake_silent = false;
    fake_questions = 0;
    atomic_store(&janitor.alone_until, 0);
    atomic_store(&janitor.overlooked, 0);
    superslab_has_huge = false;
    touched = 2 * JANITOR_LEAST;
    several_threads = false;
    huge_is_awaited = false;
    ahead = ahead_known = rests = called_in = 0;
    atomic_store(&janitor.looked, 0);
    janitor_configure(1, false);
    janitor.threads = 1;
    return 0;
}

static void let_go(void);

/* Waits until the value is there; a loaded machine may take its time. */
static void await_looks(unsigned least) {
    for (int ms = 0; fake.looks < least; ms++) {
        if (ms > 60000)
            fail_msg("%u looks, not %u", fake.looks, least);
        usleep(1000);
    }
}

/* Whoever frees something calls it again: it has begun a look since, or is about to go. */
static void await_call(void) {
    for (int ms = 0; atomic_load(&janitor_awake); ms++) {
        if (ms > 60000)
            fail_msg("it does not listen");
        usleep(1000);
    }
}

/* It is there, has done all it had to do after its last look, and sleeps. */
static void await_sleep(void) {
    for (int ms = 0; atomic_load(&janitor.awake) != 0 || !atomic_load(&fake_asleep); ms++) {
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
    fake.waiting = staying = 5 * JANITOR_LEAST;
    janitor_after_free(outside());
    assert_int_equal(fake.looks_here, 0); /* nor is what stays anyway */
    mine.flushed += JANITOR_LEAST;
    janitor_after_free(outside());
    assert_int_equal(fake.looks_here, 1);
    usleep(2000);                  /* the delay has passed */
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
    janitor_after_free((const void *)os_linker());
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
    assert_true(fake.prepared);
    usleep(50000);
    assert_int_equal(fake.looks, looks);
    fake.waiting = JANITOR_LEAST;
    janitor_after_free(outside()); /* again */
    await_looks(looks + 1);
    await_sleep();
    assert_int_equal(fake.looks_here, 0);
}

static void take_more(size_t bytes) {
    taken += bytes;
    janitor_after_take(outside());
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
    take_more(JANITOR_LEAST + 1);
    await_looks(1);
    await_sleep();
    unsigned looks = fake.looks;
    for (int ms = 0; fake.looks == looks && ms < 60000; ms++) { /* it may still be about to go to sleep */
        take_more(JANITOR_LEAST + 1);
        usleep(1000);
    }
    assert_int_not_equal(fake.looks, looks);
    await_sleep();
    taken = JANITOR_LEAST; /* the rest went home */
    given = 0;
    mine.flushed += JANITOR_LEAST;
    looks = fake.looks;
    janitor_after_free(outside());
    await_looks(looks + 1);
    await_sleep();
    assert_int_equal(janitor_taken_most, 2 * JANITOR_LEAST);
}

/* A call that comes just before it rests does not wake it; a later one does. */
static void take_until_it_collects(unsigned times) {
    for (int ms = 0; fake.collects < times; ms++) {
        if (ms > 60000)
            fail_msg("%u times, not %u", fake.collects, times);
        take_more(JANITOR_LEAST + 1);
        usleep(1000);
    }
}

/* Within the hour for which it rests; where there is one thread there is nothing to collect. */
static void janitor_collects_while_it_rests(void **state) {
    (void)state;
    if (atomic_load(&janitor.state) == JANITOR_RUNS)
        let_go();
    purge_keep_free = 64 * MIB;
    several_threads = true;
    janitor_configure(3600000, true);
    take_more(2 * JANITOR_LEAST);
    for (int ms = 0; rests == 0 && ms < 60000; ms++)
        usleep(1000);
    take_until_it_collects(1);
    for (unsigned i = 0; i < 15; i++)
        take_more(JANITOR_LEAST + 1);
    usleep(20000);
    assert_int_equal(fake.collects, 1); /* a quarter of what may be free is not taken yet */
    take_until_it_collects(2);
    several_threads = false;
    superslab_has_huge = true;
    take_more(1000 * MIB);
    usleep(20000);
    assert_int_equal(fake.collects, 2);
    several_threads = true;
    take_until_it_collects(3);
    assert_int_equal(fake.looks, 0);
    let_go();
    purge_keep_free = SIZE_MAX;
}

/* Of a process of one thread that grows only where something may be shed. */
static void janitor_looks_after_what_came_in_huge_pages(void **state) {
    (void)state;
    janitor_configure(1, true);
    mine.flushed += JANITOR_LEAST;
    janitor_after_free(outside());
    await_looks(1);
    await_sleep();
    for (int ms = 0; fake.looks == 1 && ms < 60000; ms++) { /* it may still be about to go to sleep */
        superslab_has_huge = ms >= 20;
        take_more(JANITOR_LEAST + 1);
        usleep(1000);
        assert_true(superslab_has_huge || fake.looks == 1);
    }
    assert_int_not_equal(fake.looks, 1);
    await_sleep();
}

static void janitor_is_not_started_for_a_small_process(void **state) {
    (void)state;
    janitor_configure(1, true);
    superslab_has_huge = true;
    take_more(10 * JANITOR_LEAST); /* a program of one thread that grows */
    assert_int_equal(atomic_load(&janitor.state), JANITOR_NONE);
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

/* Slow paths do what there is to do, until it is worth a second thread. */
static void janitor_leaves_a_program_of_one_thread_alone(void **state) {
    (void)state;
    if (atomic_load(&janitor.state) == JANITOR_RUNS)
        let_go();
    janitor_configure(1, true);
    fake_alone = true;
    fake_asked = 0;
    for (unsigned i = 1; i <= 10; i++) {
        usleep(2000); /* the delay has passed */
        mine.flushed += 10 * JANITOR_LEAST;
        janitor_after_free(outside());
        assert_int_equal(fake.looks_here, i);
    }
    fake.waiting = ALONE_LEAST - 1;
    usleep(2000);
    janitor_after_free(outside());
    assert_int_equal(fake.looks_here, 11);
    fake.waiting = ALONE_LEAST;
    usleep(2000);
    janitor_after_free(outside()); /* that was seen; a MiB more has to wait, or to be freed */
    assert_int_equal(fake.looks_here, 11);
    unsigned calls = 0; /* but not for ever */
    for (; fake.looks_here == 11 && fake.looks == 0 && calls < 1000; calls++) {
        fake.waiting = ALONE_LEAST - 1;
        janitor_after_free(outside());
    }
    assert_in_range(calls, 60, 70);
    usleep(2000);
    fake.waiting = ALONE_LEAST - 1 + JANITOR_LEAST;
    staying = JANITOR_LEAST;
    janitor_after_free(outside()); /* what stays anyway does not count */
    assert_int_equal(fake.looks_here, 13);
    staying = 0;
    taken = 4 * ALONE_PART * ALONE_LEAST;
    fake.waiting = 0;
    fallen = 4 * ALONE_LEAST - 1; /* nearly an eighth of what is in use */
    mine.flushed += JANITOR_LEAST;
    usleep(2000);
    janitor_after_free(outside());
    assert_int_equal(fake.looks_here, 14);
    assert_int_equal(atomic_load(&janitor.state), JANITOR_NONE);
    fallen++;
    mine.flushed += JANITOR_LEAST;
    janitor_after_free(outside());
    await_looks(1);
    await_sleep();
    mine.flushed += JANITOR_LEAST; /* once it is there it is woken as ever */
    fallen = 0;
    janitor_after_free(outside());
    await_looks(2);
    await_sleep();
    assert_int_equal(fake.looks_here, 14);
    assert_int_equal(fake_asked, 1);
    let_go();
}

/* The kernel says so, now and then. */
static void janitor_asks_where_libc_does_not_tell(void **state) {
    (void)state;
    janitor_configure(1, true);
    fake_alone = fake_silent = true;
    for (unsigned i = 1; i <= 3; i++) {
        for (unsigned calls = 0; calls < 100; calls++) {
            mine.flushed += JANITOR_LEAST;
            janitor_after_free(outside());
        }
        assert_int_equal(atomic_load(&janitor.state), JANITOR_NONE);
        assert_in_range(fake_questions, i,
                        50); /* of 100: more than one where this thread had to wait for the processor */
        fake_questions = i;
        usleep(2 * ALONE_NS / 1000);
    }
    fake_alone = false;
    mine.flushed += JANITOR_LEAST;
    janitor_after_free(outside());
    await_looks(1);
    await_sleep();
    unsigned asked = fake_questions;
    mine.flushed += JANITOR_LEAST; /* there is a second thread */
    janitor_after_free(outside());
    await_looks(2);
    await_sleep();
    assert_int_equal(fake_questions, asked);
    let_go();
}

/* The program itself asks whether it has one, or what it has in use is very much: there is one when a quarter of what may be kept rests. */
static void janitor_waits_for_a_quarter_of_what_may_be_kept(void **state) {
    (void)state;
    janitor_configure(1, true);
    fake_alone = true;
    for (unsigned i = 1; i <= 2; i++) {
        fake_asks = i == 1;
        janitor.asked = JANITOR_UNASKED;
        purge_keep_free = 40 * MIB;
        taken = fake_asks ? 0 : 1000 * purge_keep_free;
        fake.looks = fake.looks_here = 0;
        fake.waiting = 10 * MIB - 1;
        usleep(2000);
        janitor_after_free(outside());
        assert_int_equal(fake.looks_here, 1);
        assert_int_equal(atomic_load(&janitor.state), JANITOR_NONE);
        fake.waiting = 10 * MIB;
        mine.flushed += JANITOR_LEAST;
        janitor_after_free(outside());
        await_looks(1);
        fake.waiting = 0;
        await_sleep();
        let_go();
    }
    fake_asks = false;
    janitor.asked = JANITOR_UNASKED;
    purge_keep_free = SIZE_MAX;
}

/* With a soft limit the thread is needed to listen. */
static void janitor_of_one_thread_listens_below_a_soft_limit(void **state) {
    (void)state;
    janitor_configure(1, true);
    fake_alone = true;
    atomic_store(&limit.watching, true);
    mine.flushed += JANITOR_LEAST;
    janitor_after_free(outside());
    await_looks(1);
    await_sleep();
    atomic_store(&limit.watching, false);
    let_go();
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

/* But whoever has called before the last of those looks has freed something that this one finds, and that has not rested yet. */
static void janitor_is_patient_with_who_called_last(void **state) {
    (void)state;
    janitor_configure(1, true);
    fake.unsettled = true;
    called_in = PATIENCE;
    mine.flushed += JANITOR_LEAST;
    janitor_after_free(outside());
    await_looks(2 * PATIENCE - 1);
    await_sleep();
    assert_int_equal(fake.looks, 2 * PATIENCE - 1);
}

/* A look that has reached a thread was not in vain: what it held rests from then on. */
static void janitor_goes_on_while_it_reaches_threads(void **state) {
    (void)state;
    enum { SLEEPERS = PATIENCE + 2 };
    janitor_configure(1, true);
    fake.unsettled = true;
    fake.sleepers = SLEEPERS;
    mine.flushed += JANITOR_LEAST;
    janitor_after_free(outside());
    await_looks(SLEEPERS + PATIENCE - 1);
    await_sleep();
    assert_int_equal(fake.looks, SLEEPERS + PATIENCE - 1);
}

/* Near a limit of the process all that can go goes. */
static void janitor_purges_near_a_limit(void **state) {
    (void)state;
    janitor_configure(1, true);
    fake.waiting = 2 * MIB;
    mine.flushed += JANITOR_LEAST;
    atomic_store(&limit.watching, true);
    janitor_after_free(outside());
    await_looks(2);
    await_sleep();
    atomic_store(&limit.watching, false);
    assert_in_range(fake.purges, 2, 3);
}

static void await_state(enum janitor_state state) {
    for (int ms = 0; atomic_load(&janitor.state) != state; ms++) {
        if (ms > 60000)
            fail_msg("state %u, not %u", atomic_load(&janitor.state), state);
        usleep(1000);
    }
}

/* Until then a thread that has said that it goes may stay: nobody may come, and nothing may be configured. */
static void await_end(void) {
    for (int ms = 0; atomic_load_explicit(&fake_running, memory_order_acquire) != 0; ms++) {
        if (ms > 60000)
            fail_msg("it does not end");
        usleep(1000);
    }
}

/* The one that runs ends. */
static void let_go(void) {
    janitor_thread_went();
    await_end();
    assert_int_equal(atomic_load(&janitor.state), JANITOR_NONE);
    janitor_thread_came();
}

/* Until it is known how it is written, or will not be soon; nothing has to be freed, nor be much. */
static void janitor_looks_ahead_at_long_blocks(void **state) {
    (void)state;
    if (atomic_load(&janitor.state) == JANITOR_RUNS)
        let_go();
    touched = 0;
    janitor_after_large(outside()); /* there is none */
    huge_is_awaited = true;
    janitor_after_large(outside()); /* nor a thread */
    assert_true(huge_is_awaited);
    janitor_configure(0, true);
    janitor_after_large(outside()); /* switched off */
    assert_int_equal(atomic_load(&janitor.state), JANITOR_NONE);
    janitor_configure(1, true);
    ahead_known = 3;
    janitor_after_large(outside());
    assert_false(huge_is_awaited);
    await_looks(1);
    await_sleep();
    assert_int_equal(ahead, 3);
    ahead_known = 1000;
    huge_is_awaited = true;
    janitor_after_large(outside());
    await_looks(2);
    await_sleep();
    assert_int_equal(ahead, 3 + LOOKS_AHEAD);
    mine.flushed += JANITOR_LEAST;
    janitor_after_free(outside());
    await_looks(3);
    await_sleep();
    assert_int_equal(ahead, 3 + LOOKS_AHEAD); /* nothing is awaited */
}

/* In the middle of a rest, however long, which goes on then. */
static void janitor_looks_ahead_while_it_rests(void **state) {
    (void)state;
    janitor_configure(3600000, true);
    mine.flushed += JANITOR_LEAST;
    janitor_after_free(outside());
    for (unsigned i = 1; i <= 3; i++) {
        huge_is_awaited = true;
        for (int ms = 0; ahead < i; ms++) { /* it may just be about to rest */
            if (ms > 60000)
                fail_msg("%u looks ahead, not %u", ahead, i);
            janitor_call_soon(outside());
            usleep(1000);
        }
        ahead = i;
    }
    assert_int_equal(fake.looks, 0);
    huge_is_awaited = false;
    let_go();
}

/* Asleep, or in the middle of a rest however long: it goes with the last thread, starts no other while there is none, and is
 * there again for the next. */
static void janitor_P4_goes_with_the_last_thread(void **state) {
    (void)state;
    for (int rests = 0; rests < 2; rests++) {
        janitor_configure(rests ? 3600000 : 1, true);
        fake.waiting = 5 * JANITOR_LEAST;
        janitor_after_free(outside());
        await_state(JANITOR_RUNS);
        if (!rests)
            await_sleep();
        unsigned looks = fake.looks;
        janitor_thread_came();
        janitor_thread_went();
        usleep(20000);
        assert_int_equal(atomic_load(&janitor.state), JANITOR_RUNS); /* there is another one */
        janitor_thread_went();
        await_end();
        assert_false(atomic_load(&janitor_awake));
        fake.waiting = 5 * JANITOR_LEAST;
        janitor_after_free(outside());
        assert_int_equal(atomic_load(&janitor.state), JANITOR_NONE);
        janitor_thread_came();
        assert_true(!rests || fake.looks == looks); /* it did not finish its rest */
        fake.waiting = 0;
    }
}

/* Threads that free come and go, and each may be the last one: whoever finds the janitor running finds one that looks. */
static void janitor_P4_is_there_for_whoever_comes_meanwhile(void **state) {
    (void)state;
    enum { ROUNDS = 2000 };
    janitor_configure(1, true);
    for (int round = 0; round < ROUNDS; round++) {
        fake.waiting = JANITOR_LEAST;
        mine.flushed += JANITOR_LEAST;
        janitor_after_free(outside());
        janitor_thread_went();
        for (int i = round % 50 * 20; i > 0; i--)
            atomic_signal_fence(memory_order_seq_cst);
        janitor_thread_came();
    }
    await_call();
    unsigned looks = fake.looks;
    for (int ms = 0; fake.looks == looks; ms++) { /* it may just be leaving */
        assert_true(ms < 60000);
        fake.waiting = JANITOR_LEAST;
        mine.flushed += JANITOR_LEAST;
        janitor_after_free(outside());
        usleep(1000);
    }
    let_go();
}

/* There are as many threads as may be, for a while: slow paths stand in, and it is tried again, but not at once. */
static void janitor_tries_again_later(void **state) {
    (void)state;
    janitor_configure(1, true);
    fake_too_many = 2;
    fake.unsettled = true;
    unsigned calls = 0; /* that started none */
    uint64_t begun = os_now_ns(), now = begun;
    for (; atomic_load(&janitor.state) != JANITOR_RUNS; now = os_now_ns()) {
        assert_true(now - begun < 60 * (uint64_t)TRY_AGAIN_NS);
        mine.flushed += JANITOR_LEAST;
        unsigned before = fake.looks_here;
        janitor_after_free(outside());
        if (fake_running == 0) {
            calls++;
            assert_int_equal(fake.looks_here, before + 1);
        }
        usleep(2000); /* longer than memory rests */
    }
    assert_true(now - begun >= 2 * (uint64_t)TRY_AGAIN_NS - TRY_AGAIN_NS / 10);
    assert_true(calls >= 2);
    assert_int_equal(fake_too_many, 0);
    let_go();
}

/* What libc takes out of a thread's stack may be more than all that it was given. */
static void janitor_tries_again_with_a_larger_stack(void **state) {
    (void)state;
    for (size_t taken_out = 0; taken_out <= 16 * MIB; taken_out = taken_out ? 8 * taken_out : 300 * KIB) {
        fake_stack_least = taken_out;
        janitor_configure(1, true);
        fake.waiting = JANITOR_LEAST;
        mine.flushed += JANITOR_LEAST;
        errno = 77;
        janitor_after_free(outside());
        assert_int_equal(errno, 77); /* P3, also where a thread is started */
        await_state(JANITOR_RUNS);
        let_go();
    }
    fake_stack_least = SIZE_MAX;
    mine.flushed += JANITOR_LEAST;
    fake.waiting = JANITOR_LEAST;
    janitor_after_free(outside());
    assert_int_equal(atomic_load(&janitor.state), JANITOR_REFUSED);
    fake_stack_least = 0;
}

/* It asks for barriers when it comes, unless a filter of system calls might kill for that. */
static void janitor_asks_for_no_barriers_below_a_filter(void **state) {
    (void)state;
    janitor_configure(1, true);
    for (int filtered = 0; filtered < 2; filtered++) {
        fake_filtered_later = filtered;
        atomic_store(&fake_barriers, 0);
        unsigned looks = fake.looks;
        mine.flushed += JANITOR_LEAST;
        fake.waiting = JANITOR_LEAST;
        janitor_after_free(outside());
        await_looks(looks + 1);
        assert_int_equal(fake_barriers, !filtered);
        let_go();
    }
    fake_filtered_later = false;
}

/* Where the process was begun under a filter there may be one as soon as the program has made a thread; where it has set one itself, never. */
static void janitor_comes_below_a_filter_behind_another_thread(void **state) {
    (void)state;
    janitor_configure(1, true);
    fake_filtered = fake_inherits = true;
    mine.flushed += JANITOR_LEAST;
    fake.waiting = JANITOR_LEAST;
    janitor_after_free(outside());
    assert_int_equal(atomic_load(&janitor.state), JANITOR_NONE);
    janitor_thread_came();
    mine.flushed += JANITOR_LEAST;
    fake.waiting = JANITOR_LEAST;
    janitor_after_free(outside());
    await_state(JANITOR_RUNS);
    janitor_thread_went();
    let_go();
    fake_inherits = false;
    janitor_thread_came();
    mine.flushed += JANITOR_LEAST;
    fake.waiting = JANITOR_LEAST;
    janitor_after_free(outside());
    assert_int_equal(atomic_load(&janitor.state), JANITOR_REFUSED);
    janitor_thread_went();
    fake_filtered = false;
    atomic_store(&janitor.state, JANITOR_NONE); /* the others' is none */
}

static void janitor_is_started_anew_in_a_child(void **state) {
    (void)state;
    janitor_configure(1, true);
    atomic_store(&janitor.state, JANITOR_RUNS);
    atomic_store(&janitor_awake, true); /* at work when the process forked */
    janitor_in_child(true);
    assert_int_equal(atomic_load(&janitor.state), JANITOR_NONE);
    assert_false(atomic_load(&janitor_awake));
    assert_int_equal(janitor.threads, 1);
    janitor_in_child(false);
    assert_int_equal(janitor.threads, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(janitor_slow_paths_stand_in, setup),
        cmocka_unit_test_setup(janitor_P2_is_not_started_from_inside_libc, setup),
        cmocka_unit_test_setup(janitor_is_not_started_for_a_small_process, setup),
        cmocka_unit_test_setup(janitor_P1_P3_looks_until_nothing_is_left_and_sleeps, setup),
        cmocka_unit_test_setup(janitor_looks_after_what_threads_have_taken, setup),
        cmocka_unit_test_setup(janitor_collects_while_it_rests, setup),
        cmocka_unit_test_setup(janitor_looks_after_what_came_in_huge_pages, setup),
        cmocka_unit_test_setup(janitor_leaves_a_program_of_one_thread_alone, setup),
        cmocka_unit_test_setup(janitor_asks_where_libc_does_not_tell, setup),
        cmocka_unit_test_setup(janitor_waits_for_a_quarter_of_what_may_be_kept, setup),
        cmocka_unit_test_setup(janitor_of_one_thread_listens_below_a_soft_limit, setup),
        cmocka_unit_test_setup(janitor_gives_up_what_never_rests, setup),
        cmocka_unit_test_setup(janitor_is_patient_with_who_called_last, setup),
        cmocka_unit_test_setup(janitor_goes_on_while_it_reaches_threads, setup),
        cmocka_unit_test_setup(janitor_purges_near_a_limit, setup),
        cmocka_unit_test_setup(janitor_looks_ahead_at_long_blocks, setup),
        cmocka_unit_test_setup(janitor_looks_ahead_while_it_rests, setup),
        cmocka_unit_test_setup(janitor_P4_goes_with_the_last_thread, setup),
        cmocka_unit_test_setup(janitor_P4_is_there_for_whoever_comes_meanwhile, setup),
        cmocka_unit_test_setup(janitor_tries_again_later, setup),
        cmocka_unit_test_setup(janitor_asks_for_no_barriers_below_a_filter, setup),
        cmocka_unit_test_setup(janitor_comes_below_a_filter_behind_another_thread, setup),
        cmocka_unit_test_setup(janitor_tries_again_with_a_larger_stack, setup),
        cmocka_unit_test_setup(janitor_is_started_anew_in_a_child,
                               setup), /* last: the one of before is still there */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
