/* lifecycle: the first call, a thread's first and last call, fork, and the end of the process.
 *
 * Owns when things begin and end. The first allocation of the process reads the options and tells the rooms
 * below; it may come before any constructor. A thread gets its heap at its first allocation and hands it back
 * in the last round of its key destructors; what it allocates after that it takes from a borrowed heap.
 *
 * P1  options are read once, before any heap is handed out
 * P2  a thread that has handed its heap back never gets another
 * P3  around fork all locks are held, in the order of the floors from above; the child finds every room whole. What libc waits for
 *     meanwhile is not held by a thread that waits for one of them; and no signal's handler runs meanwhile, which might fork, too
 *
 * Called by alloc's slow paths only. Never on a hit path.
 */
#ifndef HAKMEM_LIFECYCLE_H
#define HAKMEM_LIFECYCLE_H

#include "heap.h"

/* The heap of the calling thread, made now if it has none. NULL: the process is to use libc's allocator
 * (lifecycle_forced), the thread has ended, or there is no memory. */
struct heap *lifecycle_attach(void);

/* True when every call is to be handed to the next allocator (HAKMEM_FORCE_LIBC_ALLOC). */
bool lifecycle_forced(void);

/* True when the calling thread has handed its heap back. */
bool lifecycle_ended(void);

#endif
