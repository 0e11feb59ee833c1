/* purge: what free memory goes home, and how.
 *
 * Owns the decision. What is free waits for a while, because a program that has just freed something often wants it
 * back. What rested from one look to the next goes home:
 *
 *     units that were free and dirty all the time: the least there were, not what there is now
 *     large blocks that waited to be used again, in the same way
 *     pages of free blocks in slabs that nobody has changed, and empty slabs (heap_tidy)
 *     and, before that, what threads hold in their magazines that have not touched it and sleep (heap_reach)
 *
 * So a region that is used over and over is never given back, whatever its size; and a process that stops working has
 * nothing left to give after two or three looks. Who looks, and when: see janitor.
 *
 * Above HAKMEM_KEEP_FREE bytes nothing waits: the slow path that has just freed memory gives a bounded piece home itself.
 *
 * P1  one call of purge_step or purge_look_here gives at most PURGE_ADVICE_AT_ONCE pieces of advice for units, tidies
 *     one heap at most, gives up at most LARGE_WAITING_FEW large blocks, and makes one huge page. Near a limit of the
 *     process: twice that advice, LARGE_GIVE_UP blocks, and of all heaps as many bytes as came since, in 64 visits at most
 * P2  once three quarters of the limit are reached, a quarter of new garbage comes before there is advice again
 * P3  one visitor at a time: heap_tidy and heap_collect_for are only called under the room's lock
 *
 * Any thread; a lock of rank 9 around visits; no other lock is held during a system call that gives memory back.
 */
#ifndef HAKMEM_PURGE_H
#define HAKMEM_PURGE_H

#include "heap.h"

enum { PURGE_ADVICE_AT_ONCE = 8 };

extern size_t purge_keep_free; /* bytes; told by lifecycle once, as is the next */

/* Above purge_keep_free what is dirty may still stay as long as it and what is in use are hardly more than what was ever
 * in use at once: a program that swings pays nothing, and its peak stays what it was. The janitor sees to the rest. */
extern bool purge_within_peak;

/* Gives back a bounded piece of what is above the limit; does the caller no harm if there is nothing. Near a limit of the
 * whole process (limit.h) all that is too much goes, and what heaps hold on to. */
void purge_step(void);

/* After memory was taken and before it is touched: near a limit of the process, what is free makes room for it. */
static inline void purge_after_take(void) {
    if (limit_near())
        purge_step();
}

struct purge_looked {
    size_t bytes;     /* that went home */
    unsigned reached; /* sleeping threads whose magazines were emptied */
    bool later;       /* there is something left that may go home, or is not at rest yet */
};

/* One look at everything. */
struct purge_looked purge_look(void);

/* What threads have freed of others' heaps goes to their slabs, whatever those threads do, so that whoever grows finds it; nothing goes home.
 * For the janitor. */
void purge_collect(void);

/* A bounded look, for slow paths: at the calling thread's heap only. */
void purge_look_here(void);

/* Bytes that are free, dirty and in no slab, whether they are to stay (superslab_staying_bytes) or not. */
size_t purge_waiting_bytes(void);

/* Gives back everything that can be given back now, from every heap; what threads that do not sleep hold in magazines stays.
 * Returns the bytes. */
size_t purge_all(void);

/* The same, and address space too: for when a request was refused and is to be tried once more. */
size_t purge_for_space(void);

/* Holds and releases the room's lock around fork. */
void purge_lock(bool take);

#endif
