/* Unit tests of lifecycle: heaps, locks and options are fakes; threads and their keys are real. The room's .c is
 * included, so that each test starts before the first call. */
#include "../../src/lifecycle.c"

static bool program_is_alone;

#include "unit/unit.h"

#include <string.h>

enum { TAKEN = 16 };

struct options options;
struct heap heap_none;
THREAD_LOCAL struct heap_current heap_current = {&heap_none, HEAP_NO_TAG};
THREAD_LOCAL struct heap *heap_own;
struct lock metadata_lock = LOCK_INITIAL(3);

size_t purge_keep_free;
bool purge_within_peak;
const char options_variant[] = "standard";

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

#define SIGNALS 0x5a

static struct {
    struct heap heaps[TAKEN];
    _Atomic unsigned taken, emptied, retired, read;
    unsigned order[20], locked, held, blocks; /* ranks in the order in which they were taken */
    bool record, forking, interrupted, holds_locks, resolving, found, refuse;
    void (*before_fork)(void), (*in_parent)(void), (*in_child)(void);
    unsigned registered, summaries, os_lines;
    struct heap *while_resolving;
    size_t purge_delay;
    bool purge_thread, purge_sleeping;
    unsigned children, heaps_in_child, superslabs_in_child, huge_in_child, superslabs_before_fork, watching,
        finished, said;
    bool sampled, timed;
    size_t events;
    _Atomic unsigned reachable, threads, prepared;
} fake;

void heap_move_in(struct heap *heap) {
    assert_null(heap_own);
    heap_own = heap_current.heap = heap;
}

void heap_make_reachable(struct heap *heap) {
    assert_ptr_equal(heap, heap_own);
    assert_ptr_equal(pthread_getspecific(lifecycle.key), heap); /* its end will be told */
    fake.reachable++;
}

struct heap *heap_move_out(void) {
    struct heap *heap = heap_own;
    heap_own = NULL;
    heap_current.heap = &heap_none;
    return heap;
}

struct heap *heap_await_visitor(void) {
    return heap_current.heap = heap_own; /* it has come to an end */
}

void heap_in_child(void) {
    fake.heaps_in_child++;
}

void reach_configure(bool wanted) {
    fake.purge_sleeping = wanted;
}

bool lock_take(struct lock *lock) {
    if (fake.record) {
        fake.order[fake.locked++] = lock->rank;
        fake.held++;
    } else {
        pthread_mutex_lock(&one_at_a_time);
    }
    return false;
}

void lock_release(struct lock *lock) {
    (void)lock;
    if (fake.record)
        fake.held--;
    else
        pthread_mutex_unlock(&one_at_a_time);
}

void lock_forking(bool on) {
    assert_int_equal(fake.held, fake.interrupted ? 0 : 9); /* all of them, or none */
    fake.forking = on;
}

bool lock_holds_any(void) {
    return fake.holds_locks;
}

bool lock_is_forking(void) {
    return fake.forking;
}

/* While nothing is held: neither before the first lock nor after the last. */
uint64_t os_block_signals(void) {
    assert_int_equal(fake.held, 0);
    fake.blocks++;
    return SIGNALS;
}

void os_restore_signals(uint64_t before) {
    assert_int_equal(before, SIGNALS);
    assert_int_equal(fake.held, 0);
    assert_false(fake.forking);
    fake.blocks--;
}

static void fake_room_lock(unsigned rank, bool take) {
    struct lock room = LOCK_INITIAL(rank);
    if (take)
        lock_take(&room);
    else
        lock_release(&room);
}

void janitor_configure(size_t delay_ms, bool thread) {
    fake.purge_delay = delay_ms;
    fake.purge_thread = thread;
}

void janitor_prepare(void) {
}

void janitor_in_child(bool has_come) {
    fake.children += has_come;
}

bool os_is_alone(bool ask) {
    assert_false(ask);
    return program_is_alone;
}

THREAD_LOCAL struct favour_seat *favour_seat;

void favour_prepare(bool first) {
    assert_true(first);
    fake.prepared++;
}

void janitor_thread_came(void) {
    fake.threads++;
}

void janitor_thread_went(void) {
    fake.threads--;
}

void sample_lock(bool take) {
    fake_room_lock(10, take);
}

bool sample_configure(size_t rate) {
    assert_int_equal(rate, 14);
    return fake.sampled;
}

void heap_watch(void) {
    fake.watching++;
}

void calls_configure(bool timed, size_t events) {
    fake.timed = timed;
    fake.events = events;
}

bool calls_wanted(void) {
    return fake.timed || fake.events > 0;
}

void calls_finish(void) {
    fake.finished++;
}

void log_line(const char *format, ...) {
    (void)format;
    fake.said++;
}

void purge_lock(bool take) {
    fake_room_lock(9, take);
}

void os_configure(bool names, bool timed) {
    assert_true(names);
    assert_int_equal(timed, options.stats);
}

void limit_configure(size_t hard, size_t soft, size_t budget) {
    assert_int_equal(hard, 11);
    assert_int_equal(soft, 12);
    assert_int_equal(budget, 13);
}

void limit_print(void) {
}

void heap_lock(bool take) {
    fake_room_lock(8, take);
}

void large_lock(bool take) {
    fake_room_lock(7, take);
}

void slab_lock(bool take) {
    fake_room_lock(6, take);
}

void superslab_lock(bool take) {
    fake_room_lock(5, take);
}

void superslab_before_fork(void) {
    fake.superslabs_before_fork++;
}

void superslab_in_child(void) {
    fake.superslabs_in_child++;
}

void huge_in_child(void) {
    fake.huge_in_child++;
}

void pagemap_lock(bool take) {
    fake_room_lock(4, take);
}

void options_read(void) {
    fake.read++;
}

struct heap *heap_take(void) {
    assert_true(fake.read == 1 || fake.resolving);
    if (fake.refuse)
        return NULL;
    unsigned number = fake.taken++;
    assert_true(number < TAKEN);
    fake.heaps[number].hand.may = true;
    return &fake.heaps[number];
}

void large_hand_empty(struct large_hand *hand) {
    fake.emptied += !((struct heap *)((char *)hand - offsetof(struct heap, hand)))->idle;
}

void heap_retire(struct heap *heap) {
    assert_ptr_equal(heap_current.heap, &heap_none);
    assert_false(heap->idle);
    heap->idle = true;
    fake.retired++;
}

void heap_configure(unsigned prewarm, size_t warm, size_t packs, bool populate) {
    assert_int_equal(populate, options.populate);
    assert_int_equal(packs, options.keep_free / 2);
    assert_int_equal(prewarm, 5);
    assert_int_equal(warm, options.keep_free / 8);
}

void large_configure(size_t cache_bytes) {
    assert_int_equal(cache_bytes, 77);
}

void large_keep_longer(bool keep) {
    assert_int_equal(keep, purge_within_peak && options.decommit == DECOMMIT_DONTNEED);
}

void huge_configure(bool huge_pages) {
    assert_true(huge_pages);
}

void superslab_configure(size_t huge_from, bool decommit, bool decommit_lazily) {
    assert_true(huge_from == 15 && decommit && !decommit_lazily);
}

void dense_refuse_samples(void) {
    assert_false(options.purge_thread); /* where a thread is wanted no call is forbidden */
}

void superslab_ask_nothing(void) {
    assert_false(options.purge_thread);
}

bool next_resolve(void) {
    fake.resolving = true;
    fake.while_resolving = lifecycle_attach(); /* as a dlsym that allocates */
    fake.resolving = false;
    return fake.found;
}

bool next_resolving(void) {
    return fake.resolving;
}

void stats_print_summary(void) {
    fake.summaries++;
}

void stats_print_os_line(void) {
    fake.os_lines++;
}

void os_keep_stderr(void) {
    assert_int_equal(fake.read, 1);
}

int fake_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void)) {
    fake.before_fork = before;
    fake.in_parent = in_parent;
    fake.in_child = in_child;
    fake.registered++;
    return 0;
}

static int setup(void **state) {
    (void)state;
    if (lifecycle.has_key)
        pthread_key_delete(lifecycle.key);
    memset(&fake, 0, sizeof fake);
    memset(&options, 0, sizeof options);
    atomic_store(&lifecycle.state, UNKNOWN);
    lifecycle.has_key = lifecycle.printed = lifecycle.watches_forks = false;
    lifecycle_round = 0;
    heap_current.heap = &heap_none;
    heap_own = NULL;
    options.prewarm = 5;
    options.hard_limit = 11;
    options.soft_limit = 12;
    options.syscall_budget = 13;
    options.name_mappings = true;
    options.large_cache = 77;
    options.keep_free = 99;
    options.purge_delay = 200;
    options.purge_thread = options.purge_sleeping = true;
    options.huge_pages = true;
    options.huge_from = 15;
    options.decommit = DECOMMIT_DONTNEED;
    return 0;
}

static void lifecycle_P1_options_are_read_before_the_first_heap(void **state) {
    (void)state;
    assert_false(lifecycle_forced());
    struct heap *heap = lifecycle_attach();
    assert_ptr_equal(heap, &fake.heaps[0]);
    assert_ptr_equal(heap_current.heap, heap);
    assert_int_equal(fake.read, 1);
    assert_int_equal(purge_keep_free, 99);
    assert_int_equal(fake.purge_delay, 200);
    assert_true(fake.purge_thread && fake.purge_sleeping);
    assert_int_equal(fake.registered, 1);
    assert_int_equal(fake.reachable, 1);
    assert_int_equal(fake.threads, 1);
    assert_int_equal(fake.prepared, 1);
    assert_ptr_equal(lifecycle_attach(), heap);
    heap_current.heap = &heap_none; /* a visitor is at it */
    assert_ptr_equal(lifecycle_attach(), heap);
    assert_ptr_equal(heap_current.heap, heap);
    assert_int_equal(fake.taken, 1);
    lifecycle_start(); /* as a thread that saw the state too early */
    assert_int_equal(fake.read, 1);
    assert_int_equal(fake.registered, 1);
    assert_int_equal(fake.prepared, 1);
    pthread_setspecific(lifecycle.key, NULL);
}

static void lifecycle_asks_the_kernel_for_nothing_without_the_janitor(void **state) {
    (void)state;
    options.purge_thread = false;
    assert_non_null(lifecycle_attach());
    assert_int_equal(fake.prepared, 0);
    pthread_setspecific(lifecycle.key, NULL);
}

static void *attach(void *unused) {
    (void)unused;
    void *heap = lifecycle_attach();
    assert_ptr_equal(heap, heap_current.heap);
    assert_false(lifecycle_ended());
    return heap;
}

static void lifecycle_P1_threads_that_start_together(void **state) {
    (void)state;
    pthread_t threads[TAKEN];
    for (int i = 0; i < TAKEN; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, attach, NULL), 0);
    for (int i = 0; i < TAKEN; i++) {
        void *heap;
        assert_int_equal(pthread_join(threads[i], &heap), 0);
        assert_non_null(heap);
    }
    assert_int_equal(fake.read, 1);
    assert_int_equal(fake.registered, 1);
    assert_int_equal(fake.taken, TAKEN);
    assert_int_equal(fake.retired, TAKEN);
    assert_int_equal(fake.emptied, TAKEN);
}

static void lifecycle_without_memory_for_a_heap(void **state) {
    (void)state;
    fake.refuse = true;
    assert_null(lifecycle_attach());
    assert_false(lifecycle_ended() || lifecycle_forced());
    assert_ptr_equal(heap_current.heap, &heap_none);
    fake.refuse = false;
    assert_non_null(lifecycle_attach());
    pthread_setspecific(lifecycle.key, NULL);
}

/* A key of the program, whose destructor allocates in every round. */
static pthread_key_t late_key;
static unsigned late_rounds, rounds_with_heap, rounds_without;

static void allocate_late(void *value) {
    late_rounds++;
    if (lifecycle_attach()) {
        rounds_with_heap++;
        assert_false(lifecycle_ended());
        assert_int_equal(fake.retired, 0);
    } else {
        rounds_without++;
        assert_true(lifecycle_ended());
        assert_int_equal(fake.retired, 1);
    }
    pthread_setspecific(late_key, value);
}

static void *exit_late(void *unused) {
    attach(unused);
    pthread_setspecific(late_key, &late_key);
    return NULL;
}

static void lifecycle_P2_no_heap_after_the_last(void **state) {
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_key_create(&late_key, allocate_late), 0);
    assert_int_equal(pthread_create(&thread, NULL, exit_late, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_key_delete(late_key);
    assert_int_equal(late_rounds, PTHREAD_DESTRUCTOR_ITERATIONS);
    assert_true(rounds_with_heap >= 2);
    assert_true(rounds_without >= 1);
    assert_int_equal(fake.taken, 1);
    assert_int_equal(fake.retired, 1);
    assert_int_equal(fake.threads, 0);
}

static void check_all_released(void) {
    assert_int_equal(fake.held + fake.blocks, 0);
    assert_false(fake.forking);
}

static void lifecycle_P3_fork_holds_all_locks_from_above(void **state) {
    (void)state;
    static const unsigned order[] = {11, 10, 9, 8, 7, 6, 5, 4, 3};
    assert_non_null(lifecycle_attach());
    fake.record = true;
    for (int round = 0; round < 2; round++) {
        fake.locked = 0;
        fake.before_fork();
        assert_int_equal(fake.locked, ARRAY_LENGTH(order));
        assert_memory_equal(fake.order, order, sizeof order);
        assert_true(fake.forking);
        assert_int_equal(fake.blocks, 1);
        if (round == 0)
            fake.in_parent();
        else
            fake.in_child();
        check_all_released();
    }
    assert_int_equal(fake.children, 1);
    assert_int_equal(fake.heaps_in_child, 1);
    assert_int_equal(fake.superslabs_before_fork, 2);
    assert_int_equal(fake.superslabs_in_child, 1);
    assert_int_equal(fake.huge_in_child, 1);
    pthread_setspecific(lifecycle.key, NULL);
}

static void lifecycle_P3_fork_of_one_thread_touches_no_lock(void **state) {
    (void)state;
    assert_non_null(lifecycle_attach());
    fake.record = true;
    program_is_alone = true;
    fake.before_fork();
    assert_int_equal(fake.locked, 0);
    assert_false(fake.forking);
    fake.in_parent();
    program_is_alone = false; /* a handler between them has started a thread */
    fake.in_child();
    check_all_released();
    assert_int_equal(fake.locked, 0);
    assert_int_equal(fake.children, 1);
    assert_int_equal(fake.heaps_in_child, 1);
    assert_int_equal(fake.superslabs_before_fork, 1);
    assert_int_equal(fake.superslabs_in_child, 1);
    assert_int_equal(fake.huge_in_child, 1);
    pthread_setspecific(lifecycle.key, NULL);
}

static void fork_without_locks(void (*after)(void)) {
    fake.before_fork();
    assert_int_equal(fake.locked, 0);
    assert_true(fake.forking);
    assert_int_equal(fake.blocks, 0); /* a handler's fork in this one takes none either */
    after();
    check_all_released();
}

/* Who forks in a signal's handler cannot wait for what its own thread holds, or for itself as a favourite of large blocks. */
static void lifecycle_P3_fork_in_the_midst_takes_no_lock(void **state) {
    (void)state;
    struct favour_seat seat = {.busy = 1};
    assert_non_null(lifecycle_attach());
    fake.record = fake.interrupted = fake.holds_locks = true;
    fork_without_locks(fake.in_parent);
    fork_without_locks(fake.in_child);
    program_is_alone = true;
    fork_without_locks(fake.in_child);
    program_is_alone = false;
    fake.holds_locks = false;
    favour_seat = &seat;
    fork_without_locks(fake.in_parent);
    favour_seat = NULL;
    assert_int_equal(fake.children, 2);
    pthread_setspecific(lifecycle.key, NULL);
}

static void lifecycle_forced_hands_out_no_heap(void **state) {
    (void)state;
    options.force_libc = fake.found = true;
    assert_null(lifecycle_attach());
    assert_true(lifecycle_forced());
    assert_false(lifecycle_ended());
    assert_ptr_equal(fake.while_resolving, &fake.heaps[0]);
    assert_int_equal(fake.prepared, 0);
    assert_int_equal(fake.reachable + fake.threads, 0); /* nobody would tell its end */
    assert_ptr_equal(heap_current.heap, &heap_none);
    assert_true(fake.heaps[0].idle);
    assert_null(lifecycle_attach());
    assert_null(pthread_getspecific(lifecycle.key));
}

static void lifecycle_forced_without_a_next_allocator(void **state) {
    (void)state;
    options.force_libc = true;
    struct heap *heap = lifecycle_attach();
    assert_ptr_equal(heap, &fake.heaps[1]);
    assert_int_equal(fake.retired, 1);
    assert_false(lifecycle_forced());
    pthread_setspecific(lifecycle.key, NULL);
}

static void lifecycle_watches_only_what_is_sampled(void **state) {
    assert_non_null(lifecycle_attach());
    assert_int_equal(fake.watching, 0); /* nothing asks for it */
    pthread_setspecific(lifecycle.key, NULL);
    setup(state);
    options.heap_sample = 14;
    assert_non_null(lifecycle_attach());
    assert_int_equal(fake.watching, 0); /* there was no memory */
    pthread_setspecific(lifecycle.key, NULL);
    setup(state);
    options.heap_sample = 14;
    fake.sampled = true;
    assert_non_null(lifecycle_attach());
    assert_int_equal(fake.watching, 1);
    pthread_setspecific(lifecycle.key, NULL);
}

/* Where they can be: elsewhere options does not let them through. */
static void lifecycle_watches_for_what_calls_are_noted_down(void **state) {
    for (unsigned which = 0; which < 2; which++) {
        setup(state);
        options.latency = which == 0;
        options.trace = which == 1 ? 100 : 0;
        assert_non_null(lifecycle_attach());
        assert_int_equal(fake.watching, has(calls));
        assert_int_equal(fake.timed, has(calls) && options.latency);
        assert_int_equal(fake.events, has(calls) ? options.trace : 0);
        assert_int_equal(fake.said, 0);
        pthread_setspecific(lifecycle.key, NULL);
        lifecycle_finish();
        assert_int_equal(fake.finished, has(calls));
    }
}

static void lifecycle_summary_is_printed_once(void **state) {
    (void)state;
    options.stats = options.os_stats = true;
    lifecycle_finish(); /* the process never allocated */
    lifecycle_finish();
    assert_int_equal(fake.read, 1);
    assert_int_equal(fake.summaries, 1);
    assert_int_equal(fake.os_lines, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(lifecycle_P1_options_are_read_before_the_first_heap, setup),
        cmocka_unit_test_setup(lifecycle_P1_threads_that_start_together, setup),
        cmocka_unit_test_setup(lifecycle_asks_the_kernel_for_nothing_without_the_janitor, setup),
        cmocka_unit_test_setup(lifecycle_without_memory_for_a_heap, setup),
        cmocka_unit_test_setup(lifecycle_P2_no_heap_after_the_last, setup),
        cmocka_unit_test_setup(lifecycle_P3_fork_holds_all_locks_from_above, setup),
        cmocka_unit_test_setup(lifecycle_P3_fork_in_the_midst_takes_no_lock, setup),
        cmocka_unit_test_setup(lifecycle_P3_fork_of_one_thread_touches_no_lock, setup),
        cmocka_unit_test_setup(lifecycle_forced_hands_out_no_heap, setup),
        cmocka_unit_test_setup(lifecycle_forced_without_a_next_allocator, setup),
        cmocka_unit_test_setup(lifecycle_watches_only_what_is_sampled, setup),
        cmocka_unit_test_setup(lifecycle_watches_for_what_calls_are_noted_down, setup),
        cmocka_unit_test_setup(lifecycle_summary_is_printed_once, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
