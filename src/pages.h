/* pages: where a range's pages are.
 *
 * Owns the two calls to the kernel that large blocks need beside those of os: pages leave a range for another one
 * without being copied, and the pages of a range that are in memory are counted. Both go through libc's syscall(), as
 * os's do, and the first is counted among os's remaps.
 *
 * P1  a refusal changes nothing, and no function here changes errno
 * P2  what is counted as in memory is never more than the range
 *
 * Called by large alone, never under a lock; each call allocates nothing and takes bounded time: at most
 * PAGES_COUNTED bytes of a range are looked at page by page, of a longer one four samples.
 */
#ifndef HAKMEM_PAGES_H
#define HAKMEM_PAGES_H

#include <stdbool.h>
#include <stddef.h>

enum { PAGES_COUNTED = 16 * 1024 * 1024 };

/* Moves the pages of `bytes` from `start` over `target`, a range of ours as long; the old range stays mapped and reads as
 * zero. False when refused, as by kernels before 5.7. */
bool pages_move_out(void *start, size_t bytes, void *target);

/* Bytes of the range that are in memory; all of them where the system does not say. */
size_t pages_resident(const void *start, size_t bytes);

#endif
