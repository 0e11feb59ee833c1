/* stats: sums on request, and what is printed at exit.
 *
 * Owns no counter: each lies in the room that counts, and is summed up here when somebody asks. Sums are
 * snapshots: other threads go on meanwhile.
 *
 * P1  free_bytes + live_bytes == mapped_bytes, but for what changes during the sum
 *
 * Never called from a hit path; prints without allocating.
 */
#ifndef HAKMEM_STATS_H
#define HAKMEM_STATS_H

#include "heap.h"

struct stats {
    uint64_t mapped_bytes;   /* address space of slabs, runs and mappings */
    uint64_t live_bytes;     /* ... of them in slabs, runs and mappings that are in use */
    uint64_t free_bytes;     /* ... and in free units and cached mappings */
    uint64_t dirty_bytes;    /* part of free_bytes for which the kernel may still hold pages */
    uint64_t large_bytes;    /* live mappings: the part of live_bytes outside superslabs */
    uint64_t metadata_bytes; /* our own records, apart from all the above */
    uint64_t heaps, idle_heaps;
    uint64_t mallocs, frees; /* small blocks; exact with the box counters, else 0 */
    uint64_t exact_bytes;    /* in live small blocks; exact with the box counters, else 0 */
    uint64_t larges, large_frees, remote_frees, refills, flushes;
};

void stats_collect(struct stats *stats);

/* A readable summary on stderr: memory, system calls by kind, bytes and time, limits, page faults, time. */
void stats_print_summary(void);

/* The line of HAKMEM_SS_OS_STATS on stderr. */
void stats_print_os_line(void);

#endif
