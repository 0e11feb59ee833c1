/* visit: how one thread may work on what belongs to another, at no cost to the other.
 *
 * Owns a lock with a favourite. The owner of a thing (a heap's thread) takes and leaves it on slow paths with two plain
 * stores and a load; a visitor, who comes seldom, pays for both with a barrier in every running thread. That is the
 * asymmetric lock of Dice, Huang and Yang 2001 ("Asymmetric Dekker Synchronization"), on membarrier(2).
 *
 *     owner:    busy = 1; look at wanted; work; busy = 0
 *     visitor:  wanted = 1; barrier everywhere; wait until busy is 0; work; wanted = 0, wake
 *
 * Either the owner's store to busy came before the barrier, and the visitor sees it; or its look at wanted comes after,
 * and it sees that.
 *
 * P1  owner and visitor are never both inside
 * P2  an owner waits for one visit at most as long as that visit takes; who visits gives no memory home meanwhile
 * P3  a visitor gives up when the owner does not leave in time: it may be descheduled
 *
 * One owner at a time, one visitor at a time: the caller sees to that. Where the kernel knows no membarrier, visits are
 * always refused. Never allocates, takes no lock.
 */
#ifndef HAKMEM_VISIT_H
#define HAKMEM_VISIT_H

#include "base.h"
#include "boxes.h"

#include <stdatomic.h>

struct visit {
    _Atomic uint32_t busy;   /* the owner is inside */
    _Atomic uint32_t wanted; /* a visitor is inside, or waits to be; futex of an owner that waits */
};

/* The slow half of visit_enter: waits until the visitor has gone. */
void visit_wait(struct visit *visit);

/* The owner's half of the handshake, before it looks at wanted. */
static inline void visit_knock(struct visit *visit) {
    ASSERT(P1, atomic_load_explicit(&visit->busy, memory_order_relaxed) == 0);
    /* In the check variant an exchange, which is a barrier of its own: ThreadSanitizer knows no membarrier. */
    if (has(asserts))
        atomic_exchange_explicit(&visit->busy, 1, memory_order_seq_cst);
    else
        atomic_store_explicit(&visit->busy, 1, memory_order_relaxed);
    atomic_signal_fence(
        memory_order_seq_cst); /* the compiler keeps the order; the visitor's barrier the rest */
}

static inline void visit_enter(struct visit *visit) {
    visit_knock(visit);
    /* Acquire: what the last visitor did; pairs with visit_end. */
    if (UNLIKELY(atomic_load_explicit(&visit->wanted, memory_order_acquire)))
        visit_wait(visit);
}

static inline void visit_leave(struct visit *visit) {
    ASSERT(P1, atomic_load_explicit(&visit->busy, memory_order_relaxed) == 1);
    atomic_store_explicit(&visit->busy, 0, memory_order_release); /* pairs with visit_begin */
}

/* As visit_enter, but it never waits. False: a visitor is inside, or waits to be; the owner is not. */
static inline bool visit_try(struct visit *visit) {
    visit_knock(visit);
    if (LIKELY(atomic_load_explicit(&visit->wanted, memory_order_acquire) == 0)) /* pairs with visit_end */
        return true;
    visit_leave(visit);
    return false;
}

/* The owner is inside: a hint, but for who knows that it has gone. */
static inline bool visit_is_busy(const struct visit *visit) {
    return atomic_load_explicit(&visit->busy, memory_order_relaxed);
}

/* The visitor comes in; false: not now. */
bool visit_begin(struct visit *visit);
void visit_end(struct visit *visit);

#endif
