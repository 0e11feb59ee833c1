/* large: one block, one run of units, or one mapping.
 *
 * Owns blocks above the largest size class. Up to 1 MiB a block is a run of units in a superslab; above, or
 * for alignments above a unit, it is a mapping of its own. Freed mappings are kept, up to a number of bytes,
 * for the next request of nearly the same size: a program that takes and returns large buffers makes no
 * system calls; one that is nearly of the size is made as long as wanted and keeps its pages. What is cached never
 * lifts the process above what it once had live. A mapping grows by moving page tables (mremap), not bytes.
 *
 * P1  a record in use describes exactly one live block, and its first unit has its tag
 * P2  cached mappings together hold at most the configured bytes, in at most LARGE_CACHE_SLOTS places
 * P3  nothing is unmapped that this room did not map; what cannot be unmapped is kept for reuse
 *
 * Any thread may call everything here; one lock of rank 7, held for a bounded walk of the cache, never
 * during a system call.
 */
#ifndef HAKMEM_LARGE_H
#define HAKMEM_LARGE_H

#include "superslab.h"

enum { LARGE_CACHE_SLOTS = 32 };

struct large {
    unsigned char *start;
    size_t bytes;           /* usable: a multiple of the unit */
    struct superslab *home; /* NULL: a mapping */
    struct large *next;     /* in the list of unused records */
};

/* A block of at least `size` bytes at a multiple of `alignment`; *zeroed says whether it reads as zero.
 * NULL: no memory. */
void *large_new(size_t size, size_t alignment, bool *zeroed);

/* Frees the block of a record; the pagemap no longer knows it afterwards. */
void large_delete(struct large *large);

/* Makes the block at least `size` bytes long, possibly elsewhere, without copying bytes. Returns its start,
 * NULL when that cannot be done without copying (the block is as it was). Shrinks where that saves memory. */
void *large_resize(struct large *large, size_t size);

/* Unmaps cached mappings until at most `keep` bytes are cached. Returns the bytes that went home. */
size_t large_purge(size_t keep);

/* Bytes that may be cached; told by lifecycle once. */
void large_configure(size_t cache_bytes);

size_t large_mapped_bytes(void); /* live and cached mappings */
size_t large_cached_bytes(void);

/* Holds and releases the room's lock around fork. */
void large_lock(bool take);

#endif
