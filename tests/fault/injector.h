/*
 * injector.h: makes the library's calls for memory fail, on demand.
 *
 * The library asks the kernel for memory only through libc's function `syscall`. injector.c defines that name:
 * in a test program, where the functions below steer it, and in a preload (fault_preload), where the environment
 * does. Only mmap, munmap, madvise and mremap are ever refused; each refused call is answered with ENOMEM
 * without reaching the kernel, as the kernel itself answers when memory or mappings run out. All else passes.
 *
 * A plan: which kinds of calls (a sum of FAULT_*), and which of them: the n-th one alone (nth > 0), or each with
 * a chance of per_mille / 1000, decided by the seed and the number of the call, so that a run can be repeated.
 *
 * From the first call of the process the plan is read from FAULT_CALLS, FAULT_NTH, FAULT_PER_MILLE, FAULT_SEED;
 * fault_preload writes "seen S injected I" to the descriptor FAULT_REPORT when the process ends.
 */
#ifndef HAKMEM_TESTS_INJECTOR_H
#define HAKMEM_TESTS_INJECTOR_H

enum fault_calls {
    FAULT_MMAP = 1,
    FAULT_MUNMAP = 2,
    FAULT_MADVISE = 4,
    FAULT_MREMAP = 8,
    FAULT_QUIET = FAULT_MUNMAP | FAULT_MADVISE | FAULT_MREMAP, /* what a caller never needs to know of */
    FAULT_ALL = 15
};

void fault_arm(unsigned calls, unsigned long nth, unsigned per_mille, unsigned seed);
void fault_disarm(void);

/* Calls of the planned kinds since the plan was made, and how many of them were refused. */
unsigned long fault_seen(void);
unsigned long fault_injected(void);

#endif
