/* kernel: the system calls of the rooms under test, with a will of their own.
 *
 * The programs here link the real room os, but its syscall() is kernel_syscall(): it counts, refuses what the
 * test wants refused, shows a call to the test before it is made, and hands the rest to the real kernel; with KERNEL_BEYOND set without
 * the hint where, so that all lies beyond pagemap's window. */
#ifndef KERNEL_H
#define KERNEL_H

#include <stdbool.h>
#include <stddef.h>

#define ALWAYS (~0u)

/* Calls of one kind: how many there were, and how many of the next ones fail with ENOMEM. */
struct kernel_call {
    unsigned count, refuse;
};

extern struct kernel {
    struct kernel_call map, unmap, remap, advise;
    unsigned barriers;   /* that were asked for */
    size_t largest_map;  /* longer mappings are refused; 0: no limit */
    size_t smallest_map; /* shorter ones are refused: records need some, blocks longer ones */
    void (*before_advise)(void *start, size_t bytes);
    void (*before_remap)(void *start, size_t bytes);
    void (*before_unmap)(void *start, size_t bytes);
} kernel;

/* Everything is allowed and nothing was counted. As a cmocka setup function. */
int kernel_reset(void **state);

#endif
