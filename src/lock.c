/* lock: see lock.h. States 0, 1, 2 as in Drepper's "Futexes are tricky": only a lock that somebody may sleep
 * on costs a system call to release. */
#include "base.h"
#include "boxes.h"
#include "os.h"
#include "lock.h"

enum { LOCK_FREE, LOCK_HELD, LOCK_WAITED_FOR };

/* Longer than any of our critical sections on an idle machine, shorter than a sleep. None where it is known that there
 * is one CPU: who holds the lock cannot run meanwhile. */
#define LOCK_SPINS 64

static THREAD_LOCAL struct {
    uint32_t held;  /* bit per rank; kept where the box asserts is open */
    uint16_t depth; /* locks that are held or waited for: a signal's handler finds none that is not counted */
    bool forking;
} lock_thread;

static uint32_t lock_bit(const struct lock *lock) {
    return 1u << lock->rank;
}

static void lock_set_held(const struct lock *lock, bool held) {
    lock_thread.held = held ? lock_thread.held | lock_bit(lock) : lock_thread.held & ~lock_bit(lock);
}

/* Before it is taken. */
static void lock_enter(void) {
    lock_thread.depth++;
    atomic_signal_fence(memory_order_seq_cst);
}

/* After it was released, or not taken. */
static void lock_leave(void) {
    atomic_signal_fence(memory_order_seq_cst);
    lock_thread.depth--;
}

/* Pairs with the release in lock_release. */
static bool lock_change(struct lock *lock) {
    uint32_t expected = LOCK_FREE;
    return atomic_compare_exchange_strong_explicit(&lock->state, &expected, LOCK_HELD, memory_order_acquire,
                                                   memory_order_relaxed);
}

static COLD void lock_wait(struct lock *lock) {
    int spins = atomic_load_explicit(&os_cpus, memory_order_relaxed) == 1 ? 0 : LOCK_SPINS;
    for (int i = 0; i < spins; i++) {
        base_pause();
        if (atomic_load_explicit(&lock->state, memory_order_relaxed) == LOCK_FREE && lock_change(lock))
            return;
    }
    while (atomic_exchange_explicit(&lock->state, LOCK_WAITED_FOR, memory_order_acquire) != LOCK_FREE)
        os_wait(&lock->state, LOCK_WAITED_FOR);
}

NOINLINE bool lock_take(struct lock *lock) {
    if (UNLIKELY(lock_thread.forking))
        return false;
    ASSERT(P1, (lock_thread.held & (2 * lock_bit(lock) - 1)) == 0);
    lock_enter();
    bool waits = !lock_change(lock);
    if (UNLIKELY(waits))
        lock_wait(lock);
    if (has(asserts))
        lock_set_held(lock, true);
    return waits;
}

bool lock_try(struct lock *lock) {
    if (UNLIKELY(lock_thread.forking))
        return true;
    lock_enter();
    bool taken = lock_change(lock);
    if (!taken)
        lock_leave();
    else if (has(asserts))
        lock_set_held(lock, true);
    return taken;
}

NOINLINE void lock_release(struct lock *lock) {
    if (UNLIKELY(lock_thread.forking))
        return;
    if (has(asserts))
        lock_set_held(lock, false);
    uint32_t before = atomic_exchange_explicit(&lock->state, LOCK_FREE, memory_order_release);
    ASSERT(P2, before != LOCK_FREE);
    lock_leave();
    if (before == LOCK_WAITED_FOR)
        os_wake(&lock->state, 1);
}

void lock_note(const struct lock *lock, bool held) {
    if (!has(asserts) || lock_thread.forking)
        return;
    ASSERT(P1, !held || (lock_thread.held & (2 * lock_bit(lock) - 1)) == 0);
    lock_set_held(lock, held);
}

bool lock_holds_any(void) {
    return lock_thread.depth != 0;
}

void lock_forking(bool on) {
    lock_thread.forking = on;
}

bool lock_is_forking(void) {
    return lock_thread.forking;
}
