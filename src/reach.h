/* reach: whether another thread sleeps outside of this library, so that what only it works on may be touched.
 *
 * Owns the proof. The hit path works on magazines without any store that others could see, and loads the word that leads
 * to them (heap_current.heap) anew in each call. A visitor who has pointed that word elsewhere therefore has to fear only a call
 * that began before: one that was interrupted by a signal handler, or one that sleeps in a system call of ours.
 *
 *     visitor: begin: the kernel says that the thread sleeps, and where
 *              points the thread's word elsewhere
 *              confirm: it still sleeps there, after the store; and between its stack pointer and the end of its stack
 *              no word points into this library's code, and none to where signal handlers return to
 *
 * On x86-64 each call leaves a return address on the stack, and the kernel leaves one for each handler that has not
 * returned: so no call of ours is under way. Whatever the thread does next loads the word.
 *
 * P1  asleep is only said of a thread in a system call, on its own stack, STACK_LARGEST deep at most
 * P2  when anything cannot be told the answer is no; for a refusal of the kernel for good, for ever
 * P3  no memory of another thread is read by this process itself, only by the kernel: a wrong address is no fault
 *
 * Never possible where the library is part of the program (all its code would look like ours), under a filter of
 * system calls, or on other processors. One visitor at a time. Never allocates, takes no lock, keeps errno.
 */
#ifndef HAKMEM_REACH_H
#define HAKMEM_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number of the thread that a forked process began with, whatever that is: none of the kernel's is as large. */
#define REACH_FORKED UINT32_MAX

struct reach_thread {
    /* As the kernel counts threads, or REACH_FORKED; 0: nobody. Atomic, relaxed: a hint outside of a visit. */
    uint32_t number;
    uintptr_t stack_end; /* above all its frames; 0: unknown */
};

enum reach_found {
    REACH_RUNS,  /* or cannot be told now */
    REACH_BUSY,  /* it sleeps where it must not be disturbed: asking again is in vain until it has run */
    REACH_ASLEEP /* outside of this library */
};

/* One look at one thread. */
struct reach {
    int file; /* -1: none */
    uintptr_t stack, stack_end;
    char said[192]; /* by the kernel */
};

/* Told once, before there are threads: whether it is wanted. */
void reach_configure(bool wanted);

/* True while it may work. */
bool reach_possible(void);

/* The same, and the kernel is asked. Before each round of looks: a filter may have come. */
bool reach_allowed(void);

/* Describes the calling thread; `word` is one of its thread-local objects. False: nobody would ever ask. */
bool reach_describe(struct reach_thread *thread, const void *word);

/* After fork, in the child: the calling thread was described as `parent`. No system call. */
void reach_describe_forked(struct reach_thread *thread, const struct reach_thread *parent);

/* The first half; whatever it says, reach_end follows. */
enum reach_found reach_begin(struct reach *reach, const struct reach_thread *thread);

/* The second half, after the word was stored. */
enum reach_found reach_confirm(struct reach *reach);

void reach_end(struct reach *reach);

#endif
