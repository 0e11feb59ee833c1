/* janitor: who gives free memory home, and when.
 *
 * Owns a thread. It is started by the first slow path that has freed JANITOR_LEAST bytes of a process that holds as much (of one thread:
 * when that is worth a second, docs/experiments/programs-of-one-thread.md), or made a
 * long block of which nobody knows how it is written (huge_look_ahead: it looks within half a ms, 1, 2 ... 32),
 * looks every HAKMEM_PURGE_DELAY (see purge) until nothing is left to do, and sleeps until somebody frees
 * that much again. In between it collects what threads have freed of each other's, if they took much since. It never allocates and
 * takes no part in what the program does: all signals are blocked, its name is hakmem-janitor, and at the end of the process it just
 * ends. It goes when the last thread that has allocated goes, so that the process ends with that. A thread that ends without libc
 * (the system call exit, a filter that kills it) tells nobody: so one that sleeps asks after 1 s, 2, 4 ... whether the process is only waiting for it. A forked child starts its own; one of clone(2) or vfork none.
 *
 *     sleeps --woken by a free--> looks, rests for the delay, looks ... --nothing left, or nothing at rest--> sleeps
 *
 * Where there is none (HAKMEM_PURGE_THREAD=0, a filter of system calls, a program without a dynamic linker, or of one thread), slow
 * paths look, once in a delay at most, and at a bounded piece.
 *
 * P1  an idle process is not woken, but for that question: the janitor looks again only after something was freed, or taken by several
 *     threads, or by one of a heap in huge pages, or was a long block
 * P2  no thread is started from inside of libc or the dynamic linker, which may hold locks that this needs
 * P3  errno stays what it was
 * P4  it does not keep a process alive whose other threads have ended, or for no longer than it had been idle
 *
 * Called by alloc's slow paths and lifecycle. No locks.
 */
#ifndef HAKMEM_JANITOR_H
#define HAKMEM_JANITOR_H

#include "huge.h"
#include "purge.h"

#include <stdatomic.h>

#define JANITOR_LEAST MIB /* nobody is woken for less */

/* True while the janitor looks after things by itself. Relaxed: seen late, it costs a call. */
extern _Atomic bool janitor_awake;

/* Wakes the janitor, or does its work for a bounded while, if enough was freed. `caller`: who called the allocator. */
void janitor_call(const void *caller);

/* False when whoever called the allocator is inside of libc or the dynamic linker, or may be: they may hold locks that starting a
 * thread, or loading a library, needs. */
bool janitor_may_start_from(const void *caller);

/* After something was freed that nobody made dirty: it rests. */
static ALWAYS_INLINE void janitor_after_rest(const void *caller) {
    if (UNLIKELY(!atomic_load_explicit(&janitor_awake, memory_order_relaxed)))
        janitor_call(caller);
}

/* After a slow path has freed something. */
static inline void janitor_after_free(const void *caller) {
    if (UNLIKELY(superslab_dirty_bytes() > purge_keep_free) || limit_near())
        purge_step();
    janitor_after_rest(caller);
}

/* Wakes the janitor for a long block that it is to look at while that is written. */
void janitor_call_soon(const void *caller);

/* After a slow path has taken a large block. */
static inline void janitor_after_large(const void *caller) {
    if (UNLIKELY(atomic_load_explicit(&huge_is_awaited, memory_order_relaxed)))
        janitor_call_soon(caller);
}

#define JANITOR_NEVER (SIZE_MAX / 2)

/* Bytes of units in somebody's hands, above which a thread that takes more calls. */
extern _Atomic size_t janitor_taken_most;

/* Wakes the janitor where sleeping threads can be reached: what several threads have taken may soon rest in magazines, and
 * no free would tell. And where there is one, and huge pages, of which a part may be left that nobody was given. */
void janitor_call_taken(const void *caller);

/* After a slow path has taken something. */
static inline void janitor_after_take(const void *caller) {
    size_t most = atomic_load_explicit(&janitor_taken_most, memory_order_relaxed);
    if (UNLIKELY(superslab_mapped_bytes() > superslab_free_bytes() + most)) /* read one by one: a hint */
        janitor_call_taken(caller);
}

/* Told by lifecycle once: how long memory rests (ms, 0: nothing goes home by itself), whether a thread may be started. */
void janitor_configure(size_t delay_ms, bool thread);

/* Told by lifecycle's constructor. The thread is made by libc's own pthread_create: a program's that stands before it may want a lock which whoever frees
 * holds, and keep a record of each thread. There is none where another library's malloc stands before ours. */
void janitor_prepare(void);

/* A thread has a heap from now on; it has run its last destructor. */
void janitor_thread_came(void);
void janitor_thread_went(void);

/* The calling thread is about to set a filter of system calls, or may be: see os_note_filter. The thread goes, and none comes any more;
 * a filter for all threads would be for it, too. Waits for it, for a tenth of a second at most. Not in a child of vfork, whose memory is
 * the parent's. */
void janitor_note_filter(void);

/* After fork: the thread has stayed with the parent. `has_come`: the only one that is left had. */
void janitor_in_child(bool has_come);

#endif
