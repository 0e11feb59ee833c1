/* purge: when free memory goes home.
 *
 * Owns the decision. Nothing runs in the background: a slow path that has just freed memory asks whether more
 * than HAKMEM_KEEP_FREE bytes are free and still held, and if so gives back a bounded piece of it.
 *
 * P1  one call of purge_after_free gives at most PURGE_ADVICE_AT_ONCE pieces of advice
 * P2  once three quarters of the limit are reached, a quarter of new garbage comes before there is advice again
 *
 * Any thread; no lock is held during a system call.
 */
#ifndef HAKMEM_PURGE_H
#define HAKMEM_PURGE_H

#include "heap.h"

enum { PURGE_ADVICE_AT_ONCE = 8 };

extern size_t purge_keep_free; /* bytes; written once, before there are threads */

/* Gives back a bounded piece of what is above the limit; does the caller no harm if there is nothing. */
void purge_step(void);

static inline void purge_after_free(void) {
    if (UNLIKELY(superslab_dirty_bytes() > purge_keep_free))
        purge_step();
}

/* Gives back everything that can be given back now, from the calling thread's heap and idle ones, too.
 * Returns the bytes. */
size_t purge_all(void);

/* The same, and address space too: for when a request was refused and is to be tried once more. */
size_t purge_for_space(void);

#endif
