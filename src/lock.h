/* lock: a mutual exclusion of four bytes whose rank is the floor of its room.
 *
 * Owns the waiting: a short spin, then a futex. Locks are taken on slow paths only.
 *
 * P1  a thread takes a lock only while it holds locks of higher ranks: so no two threads can wait for each
 *     other. Asserted in the check variant by a word of held ranks in each thread.
 * P2  only one thread is between take and release, and what it wrote is seen by the next one that takes.
 * P3  between lock_forking(true) and lock_forking(false) the calling thread passes through every lock: fork
 *     handlers of other libraries may allocate while we hold all our locks. Other threads keep waiting.
 *
 * Fork, in lifecycle, where there are other threads: take every lock from the highest rank down, lock_forking(true), fork;
 * parent and child then call lock_forking(false) and release. A signal's handler that interrupted who holds one takes none.
 *
 * Called by every room with shared state. Never allocates, never changes errno.
 */
#ifndef HAKMEM_LOCK_H
#define HAKMEM_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lock {
    _Atomic uint32_t state; /* 0 free, 1 held, 2 held and somebody may sleep */
    uint32_t rank;          /* 0..31, the floor of the room */
};

#define LOCK_INITIAL(floor) \
    { 0, (floor) }

/* Returns whether another thread held it. */
bool lock_take(struct lock *lock);

/* True when it was free and is now held. Never waits, so any rank may be tried. */
bool lock_try(struct lock *lock);

void lock_release(struct lock *lock);

/* In the check variant: the calling thread is now, or is no longer, where the lock would let it, by another way. */
void lock_note(const struct lock *lock, bool held);

/* Whether the calling thread holds a lock, or is about to: then this is a signal's handler, or below it. */
bool lock_holds_any(void);

void lock_forking(bool on);
bool lock_is_forking(void);

#endif
