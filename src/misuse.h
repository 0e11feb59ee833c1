/* misuse: what is said when a program hands us a pointer that it must not.
 *
 * Owns the exact words, and whether they are the last ones. Where frees are verified (hardened) the process
 * is stopped; elsewhere each kind is reported once and the call is ignored, so that a program that has always
 * run goes on running, and the heap is as it was.
 *
 * P1  the heap is unchanged by a call that ends here
 * P2  outside hardened, each kind is said at most once in a process
 *
 * Callable from any thread at any time; never allocates; keeps errno.
 */
#ifndef HAKMEM_MISUSE_H
#define HAKMEM_MISUSE_H

/* Foreign: nothing of hakmem was ever there. Gone: there was, and what is freed may have been freed before. */
enum misuse { MISUSE_DOUBLE_FREE, MISUSE_INSIDE, MISUSE_FOREIGN, MISUSE_GONE, MISUSE_KINDS };

void misuse_report(enum misuse kind, const void *address);

#endif
