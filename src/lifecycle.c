#include "lifecycle.h"

#include "calls.h"
#include "dense.h"
#include "favour.h"
#include "huge.h"
#include "large.h"
#include "limit.h"
#include "lock.h"
#include "log.h"
#include "metadata.h"
#include "next.h"
#include "options.h"
#include "os.h"
#include "janitor.h"
#include "sample.h"
#include "stats.h"

#include <limits.h>
#include <pthread.h>

enum state { UNKNOWN, READY, FORCED };

static struct {
    struct lock lock;
    _Atomic int state;          /* release by lifecycle_start, acquire by every attach */
    _Atomic bool watches_forks; /* relaxed: pairs with nothing */
    bool printed;
    uint64_t signals; /* that a thread which forks wants none of afterwards; under the locks of all rooms */
    pthread_key_t key;
    bool has_key;
} lifecycle = {.lock = LOCK_INITIAL(11)};

/* How many rounds of key destructors the thread has seen; ENDED after its last. */
enum { ENDED = 255, LAST_ROUND = PTHREAD_DESTRUCTOR_ITERATIONS - 1 };
static THREAD_LOCAL unsigned char lifecycle_round;

static void lifecycle_thread_exit(void *heap) {
    if (++lifecycle_round < LAST_ROUND && pthread_setspecific(lifecycle.key, heap) == 0)
        return;
    lifecycle_round = ENDED;
    struct heap *left = heap_move_out();
    if (large_hand_is_used(
            &left->hand)) /* asked here: most programs never run what follows, nor read its page */
        large_hand_empty(&left->hand);
    heap_retire(left);
    janitor_thread_went();
}

/* The locks of all rooms, in the order of their ranks from above. */
static void lifecycle_lock_rooms(bool take) {
    static void (*const rooms[])(bool) = {sample_lock, purge_lock,     heap_lock,   large_lock,
                                          slab_lock,   superslab_lock, pagemap_lock};
    if (take)
        lock_take(&lifecycle.lock);
    for (size_t i = 0; i < ARRAY_LENGTH(rooms); i++)
        rooms[i](take);
    if (take)
        lock_take(&metadata_lock);
    if (take)
        return;
    lock_release(&metadata_lock);
    lock_release(&lifecycle.lock);
}

/* Of glibc: the lock of all streams, which fork takes behind our back. Recursive; in the child it is made anew. */
extern void _IO_list_lock(void) WEAK;
extern void _IO_list_unlock(void) WEAK;
extern void _IO_list_resetlock(void) WEAK;

/* The thread forks in a signal's handler that interrupted work of ours. */
static THREAD_LOCAL bool lifecycle_interrupts;

static void lifecycle_call(void (*function)(void)) {
    if (function)
        function();
}

/* No lock is held by a thread that does not exist; to take them all would have parent and child each copy the pages that
 * they lie in. That of the streams comes first: who holds it (fflush) may wait for a stream, and who has that (getline) for memory.
 * A signal's handler that interrupted malloc may fork, too, in a program of one thread (fork(2) of POSIX.1-2008); what its own thread holds it cannot wait for.
 * None runs from the first lock to the last: one that forked would take what is held here for what it has interrupted, and it would be held for good. */
static void lifecycle_before_fork(void) {
    superslab_before_fork();
    bool interrupts = lock_holds_any() || favour_is_inside();
    if (!interrupts && os_is_alone(false))
        return;
    if (!interrupts) {
        lifecycle_call(_IO_list_lock); /* which may take long */
        uint64_t before = os_block_signals();
        lifecycle_lock_rooms(true);
        lifecycle.signals = before;
    }
    lifecycle_interrupts = interrupts;
    lock_forking(true);
}

/* `streams`: gives back, or makes anew, what was taken of libc's. */
static void lifecycle_end_fork(void (*streams)(void)) {
    if (!lock_is_forking())
        return;
    lock_forking(false);
    if (lifecycle_interrupts)
        return;
    uint64_t before = lifecycle.signals;
    lifecycle_lock_rooms(false);
    lifecycle_call(streams);
    os_restore_signals(before);
}

static void lifecycle_after_fork(void) {
    lifecycle_end_fork(_IO_list_unlock);
}

static void lifecycle_in_child(void) {
    heap_in_child();
    superslab_in_child();
    huge_in_child();
    janitor_in_child(heap_own != NULL);
    lifecycle_end_fork(_IO_list_resetlock);
}

static void lifecycle_tell_rooms(size_t keep_free_default) {
    os_configure(options.name_mappings, options.stats);
    limit_configure(options.hard_limit, options.soft_limit, options.syscall_budget);
    if (options.verbose)
        limit_print();
    purge_keep_free = options.keep_free;
    purge_within_peak =
        options.keep_free == keep_free_default && options.purge_delay > 0 && options.purge_thread;
    /* Who wants no thread may have a filter of system calls, which kills for asking a thread's number, or what is in
     * memory. */
    reach_configure(options.purge_sleeping && options.purge_thread);
    janitor_configure(options.decommit == DECOMMIT_OFF ? 0 : options.purge_delay, options.purge_thread);
    heap_configure((unsigned)options.prewarm, options.keep_free / 8, options.keep_free / 2, options.populate);
    large_configure(options.large_cache);
    large_keep_longer(purge_within_peak && options.decommit == DECOMMIT_DONTNEED);
    huge_configure(options.huge_pages);
    superslab_configure(options.huge_pages ? options.huge_from : SIZE_MAX, options.decommit != DECOMMIT_OFF,
                        options.decommit == DECOMMIT_FREE);
    if (!options.purge_thread) {
        dense_refuse_samples();
        superslab_ask_nothing();
    }
    bool watch = options.heap_sample > 0 && sample_configure(options.heap_sample);
    if (has(calls))
        calls_configure(options.latency, options.trace);
    if (watch || (has(calls) && calls_wanted()))
        heap_watch();
}

/* What dlsym allocated while it looked for the next allocator came from a heap of this thread: it goes. */
static bool lifecycle_find_next(void) {
    bool found = next_resolve();
    struct heap *heap = heap_move_out();
    if (heap)
        heap_retire(heap);
    return found;
}

/* Before the program's own handlers are registered, as far as it can be: fork calls those that were registered last first, and one of the program's may
 * wait for a thread that waits for memory. Hence at the beginning of a program that has not allocated yet, too. */
static void lifecycle_watch_forks(void) {
    if (!atomic_exchange_explicit(&lifecycle.watches_forks, true, memory_order_relaxed))
        pthread_atfork(lifecycle_before_fork, lifecycle_after_fork, lifecycle_in_child);
}

__attribute__((constructor(101))) static void lifecycle_at_load(void) {
    lifecycle_watch_forks();
    janitor_prepare();
}

static void lifecycle_start(void) {
    bool first = false;
    lock_take(&lifecycle.lock);
    if (atomic_load_explicit(&lifecycle.state, memory_order_relaxed) == UNKNOWN) {
        size_t keep_free_default = options.keep_free; /* P1 of options */
        options_read();
        if (options.stats || options.os_stats)
            os_keep_stderr();
        lifecycle_tell_rooms(keep_free_default);
        lifecycle.has_key = pthread_key_create(&lifecycle.key, lifecycle_thread_exit) == 0;
        bool forced = options.force_libc && lifecycle_find_next();
        atomic_store_explicit(&lifecycle.state, forced ? FORCED : READY, memory_order_release);
        first = true;
    }
    lock_release(&lifecycle.lock);
    if (first)
        lifecycle_watch_forks();
}

/* The first call of the process. What the kernel is asked for takes no time as long as there is one thread; later it takes milliseconds, which a
 * process that ends meanwhile waits for. docs/experiments/barriers-from-the-start.md */
static void lifecycle_begin(void) {
    lifecycle_start();
    if (options.purge_thread && !lifecycle_forced())
        favour_prepare(true);
}

struct heap *lifecycle_attach(void) {
    if (heap_own)
        return heap_mine();
    if (lifecycle_round == ENDED)
        return NULL;
    if (!next_resolving()) {
        if (atomic_load_explicit(&lifecycle.state, memory_order_acquire) == UNKNOWN)
            lifecycle_begin();
        if (lifecycle_forced())
            return NULL;
        if (heap_own) /* the first call of the process has needed memory itself */
            return heap_own;
    }
    struct heap *heap = heap_take();
    if (!heap)
        return NULL;
    heap_move_in(heap);
    /* The key may need memory of its own: it finds the heap that was set above. */
    if (lifecycle.has_key && !next_resolving() && pthread_setspecific(lifecycle.key, heap) == 0) {
        heap_make_reachable(heap);
        janitor_thread_came();
    }
    return heap;
}

bool lifecycle_forced(void) {
    return atomic_load_explicit(&lifecycle.state, memory_order_acquire) == FORCED;
}

bool lifecycle_ended(void) {
    return lifecycle_round == ENDED;
}

__attribute__((destructor)) static void lifecycle_finish(void) {
    if (lifecycle.printed)
        return;
    lifecycle.printed = true;
    if (atomic_load_explicit(&lifecycle.state, memory_order_acquire) == UNKNOWN)
        lifecycle_start(); /* it never allocated: what the options ask for is still said */
    if (has(calls))
        calls_finish();
    if (options.os_stats)
        stats_print_os_line();
    if (options.stats)
        stats_print_summary();
}
