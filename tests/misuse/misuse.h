/* misuse: what the tiny programs beside this file share.
 *
 * Each program misuses the allocator in one way. It first prints the address it is about to misuse (misuse_address),
 * so that the words of the library can be compared exactly; afterwards, where the library lets it live, it shows
 * that the heap is intact (misuse_survived): every size works, and no two live blocks overlap.
 */
#ifndef HAKMEM_TESTS_MISUSE_H
#define HAKMEM_TESTS_MISUSE_H

#include <stddef.h>

/* Prints the address as 0x<hex>, and returns it in a way that hides from the compiler where it came from. */
void *misuse_address(const void *address);

/* A large block that was freed, and that the calling thread has at hand: it has taken turns with another one. NULL: no thread. */
void *misuse_at_hand(void);

/* Checks the heap, prints "intact" and returns 0, the program's exit status; or says what is broken, and returns 1. */
int misuse_survived(void);

#endif
