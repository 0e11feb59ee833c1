/* pages: how much of a range is in memory.
 *
 * Owns the counting of a range's pages that the kernel holds, whole where the range is short and by samples where it is long;
 * whether what was touched of a range was touched nearly whole; and whether it is another process's, too.
 *
 * P1  what is counted as in memory is never more than the range
 *
 * Called by dense, superslab, large and huge, never under a lock; it allocates nothing, changes no errno and takes bounded time: at most
 * PAGES_COUNTED bytes of a range are looked at page by page, of a longer one four samples.
 */
#ifndef HAKMEM_PAGES_H
#define HAKMEM_PAGES_H

#include <stdbool.h>
#include <stddef.h>

enum { PAGES_COUNTED = 16 * 1024 * 1024, PAGES_AREA = 2 * 1024 * 1024, PAGES_RUN = 512 * 1024 };

/* Of the areas of PAGES_AREA bytes (a huge page of most machines) that have a page in memory, whether they have three quarters
 * of their pages there, on average. PAGES_UNTOUCHED: none has one, or the system does not say. */
enum pages_density { PAGES_UNTOUCHED, PAGES_SPARSE, PAGES_DENSE };

/* Bytes of the range that are in memory; all of them where the system does not say. */
size_t pages_resident(const void *start, size_t bytes, enum pages_density *density);

/* Bytes at the beginning of a range of whole pages that are all in memory, or all are not: *there. At most PAGES_RUN; all are there where
 * the system does not say. What is not may still hold something, as in swap. */
size_t pages_run(const void *start, size_t bytes, bool *there);

/* Whether no page of a range, of PAGES_AREA bytes at most, is shared with another process, as after a fork; false where the system does
 * not say. */
bool pages_are_own(const void *start, size_t bytes);

#endif
