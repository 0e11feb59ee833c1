/* favour: a lock that costs the thread which uses it most next to nothing.
 *
 * Owns a lock with a favourite. An atomic operation waits until all that the thread has written before has left for the
 * cache, and programs have just written to large blocks: so a lock that nobody else wants was half of what a large block
 * cost. A thread that takes the lock many times in a row becomes its favourite: from then on it goes in and out by plain
 * stores to a seat of its own. Whoever comes else takes the lock, then the favour away, and waits until the seat is left:
 * the asymmetric lock of Dice, Huang and Yang 2001, on membarrier(2), as in visit. A thread without a seat, as the
 * janitor's, is a visitor: it gives the favour back when it leaves.
 *
 *     favourite:   seat.busy = 1; am I still the favourite? work; seat.busy = 0
 *     any other:   lock; favourite = none; barrier everywhere; wait until its seat.busy is 0; work; unlock
 *
 * P1  only one thread is inside, and what it wrote is seen by the next one
 * P2  each time that favour is lost to another thread, the next one needs twice as many turns in a row, up to FAVOUR_MOST:
 *     the barriers of threads that take turns cost little
 * P3  no favour is given where barriers are refused, or a filter of system calls might kill for them; a filter that comes
 *     later ends it, with a rest in which every processor's stores have long left
 * P4  a seat is used by one thread at a time, and its memory stays for good: it lies in the thread's heap
 *
 * Called by large; the thread's seat is told by heap, when it moves in. Rank and forks as in lock.
 */
#ifndef HAKMEM_FAVOUR_H
#define HAKMEM_FAVOUR_H

#include "base.h"
#include "boxes.h"
#include "lock.h"

enum { FAVOUR_FROM = 16, FAVOUR_MOST = 1 << 16 }; /* turns in a row */
enum { FAVOUR_SHARED = 64 };                      /* changes from one thread to another */

/* Relaxed, but for the order that comments name: the barrier of favour_take_lock does the rest. */
struct favour_seat {
    _Atomic uint32_t busy; /* its thread is inside, or about to look whether it may be */
};

struct favour {
    struct lock lock;
    _Atomic(struct favour_seat *) favourite; /* NULL: nobody's; written under the lock */
    struct favour_seat *suspended;           /* ... as this: whom a visitor gives it back to */
    struct favour_seat
        *last; /* ... and these: who took the lock last, how often in a row, how often it must */
    uint32_t turns, needed;
    uint32_t
        changes; /* how often it was another thread than before since it was due, or a fork; counted up to FAVOUR_SHARED */
    bool inside; /* the favourite is inside, without the lock */
};

#define FAVOUR_INITIAL(floor) \
    { .lock = LOCK_INITIAL(floor), .needed = FAVOUR_FROM }

/* The calling thread's seat; NULL: it has none, and is nobody's favourite. */
extern THREAD_LOCAL struct favour_seat *favour_seat;

void favour_take_lock(struct favour *favour);
void favour_release_lock(struct favour *favour);

/* False: the favour was taken away, or is suspended. */
static inline bool favour_enter(struct favour *favour, struct favour_seat *seat) {
    /* In the check variant an exchange, which is a barrier of its own: ThreadSanitizer knows no membarrier. */
    if (has(asserts))
        atomic_exchange_explicit(&seat->busy, 1, memory_order_seq_cst);
    else
        atomic_store_explicit(&seat->busy, 1, memory_order_relaxed);
    atomic_signal_fence(
        memory_order_seq_cst); /* the compiler keeps the order; the barrier everywhere the rest */
    /* Acquire: what was done by whoever gave it back; pairs with favour_release_lock. */
    if (LIKELY(atomic_load_explicit(&favour->favourite, memory_order_acquire) == seat)) {
        favour->inside = true;
        return true;
    }
    atomic_store_explicit(&seat->busy, 0, memory_order_release);
    return false;
}

/* For the favourite only, who never waits; `seat` is the calling thread's. False: it is somebody else, and favour_take_lock may be next. */
static inline bool favour_take_at(struct favour *favour, struct favour_seat *seat) {
    bool mine = atomic_load_explicit(&favour->favourite, memory_order_relaxed) == seat;
    if (UNLIKELY(!mine || !favour_enter(favour, seat)))
        return false;
    if (has(asserts))
        lock_note(&favour->lock, true);
    return true;
}

static inline bool favour_take_mine(struct favour *favour) {
    struct favour_seat *seat = favour_seat;
    return seat && favour_take_at(favour, seat);
}

static inline void favour_take(struct favour *favour) {
    if (UNLIKELY(!favour_take_mine(favour)))
        favour_take_lock(favour);
}

/* After favour_take_at. */
static inline void favour_release_at(struct favour *favour, struct favour_seat *seat) {
    if (has(asserts))
        lock_note(&favour->lock, false);
    favour->inside = false;
    atomic_store_explicit(&seat->busy, 0, memory_order_release); /* pairs with favour_take_lock */
}

/* After favour_take_mine. */
static inline void favour_release_mine(struct favour *favour) {
    favour_release_at(favour, favour_seat);
}

static inline void favour_release(struct favour *favour) {
    if (LIKELY(favour->inside))
        favour_release_mine(favour);
    else
        favour_release_lock(favour);
}

/* Whether the calling thread is inside as a favourite: of a thread that asks, in a signal's handler. */
static inline bool favour_is_inside(void) {
    return favour_seat && atomic_load_explicit(&favour_seat->busy, memory_order_relaxed) != 0;
}

/* Threads take turns at it. Under the lock. */
static inline bool favour_is_shared(const struct favour *favour) {
    return favour->changes >= FAVOUR_SHARED;
}

/* As favour_take, before a fork: nobody is the favourite afterwards, in the child neither. */
void favour_end(struct favour *favour);

/* To be called before threads are many, if it can be: asks for what favours need where that is cheap. Unless it is the process's first
 * call, only if libc says that there is one thread: then, and before a filter is asked for, no call is made. */
void favour_prepare(bool first);

#endif
