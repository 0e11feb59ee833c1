/* metadata: memory for our own records, apart from the program's blocks.
 *
 * Owns chunks of address space that grow geometrically from 64 KiB; the first one lies in the library
 * itself, so that a small program asks the system for none. Records are reused by the rooms that own them,
 * never given back.
 *
 * P1  what metadata_new returns is zeroed, aligned to 64 bytes (256 when `bytes` is a multiple of 256), and
 *     overlaps nothing else.
 * P2  it returns NULL when the system has no memory, and errno is untouched; a later call may succeed.
 *
 * Its lock has rank 3. Called by pagemap, superslab, slab, large, heap. Never called by a hit.
 */
#ifndef HAKMEM_METADATA_H
#define HAKMEM_METADATA_H

#include <stddef.h>
#include <stdint.h>

void *metadata_new(size_t bytes);

/* Bytes handed out so far, with padding. */
uint64_t metadata_bytes(void);

/* For fork: see lock.h. */
extern struct lock metadata_lock;

#endif
