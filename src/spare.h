/* spare: freed large blocks that wait for the next request.
 *
 * Owns the order among them: bins by size, sixteen to a doubling, and a list by age. A bin's newest block goes out
 * first, its pages are the warmest; what has waited longest is given up first. Blocks wait whole, runs and
 * mappings side by side, so that taking one is a search in a bitmap and two lists, and its pages stay where they are.
 *
 *     bin      1  2  3 ... 31 | 32 34 36 ... 62 | 64 68 ...     least units of a block in it
 *
 * P1  a block taken has at least the bytes asked for, at most those allowed, and its start is aligned
 * P2  the sums of bytes are those of the blocks that wait
 *
 * Called by large alone, under large's lock; it never waits, maps or allocates. Every call takes bounded time:
 * SPARE_WORDS words of a bitmap, and SPARE_LOOKS blocks of each bin that may do.
 */
#ifndef HAKMEM_SPARE_H
#define HAKMEM_SPARE_H

#include "superslab.h"

enum { SPARE_WORDS = 12, SPARE_LOOKS = 8 };

/* The record of a large block: large's while the block lives, spare's while it waits. */
struct large {
    unsigned char *start;
    size_t bytes;    /* usable: a multiple of the unit */
    size_t extent;   /* all that stands from start on: bytes, and slack to grow into */
    size_t seam;     /* of a mapping: where its second area of the kernel's begins; 0: it is of one piece */
    size_t resident; /* waiting: bytes of it that the kernel holds, as last measured */
    struct superslab *home;      /* NULL: a mapping */
    struct large *next, *before; /* waiting: in its bin; next: in any other list of large's */
    struct large *newer, *older; /* by age */
    unsigned turns;              /* how often it was freed */
    unsigned place;              /* waiting: in large's table */
    bool roomy;                  /* live: it has slack that can be taken back */
};

/* Blocks by age. */
struct spare_ages {
    struct large *oldest, *newest;
};

void spare_age_add(struct spare_ages *ages, struct large *large);
void spare_age_remove(struct spare_ages *ages, struct large *large);

/* The least size from `bytes` (a multiple of the unit) on that begins a bin: at most a sixteenth more. */
size_t spare_round(size_t bytes);

void spare_put(struct large *large);

/* Takes the smallest that has `bytes` (a result of spare_round) to `most` bytes; NULL if none has. */
struct large *spare_take(size_t bytes, size_t most, size_t alignment, bool mapping);

/* The one that waits longest, NULL if none does. It still waits. */
struct large *spare_oldest(void);

void spare_remove(struct large *large);

size_t spare_resident_bytes(void);

/* The least that those were since the last call of this function: what nobody has asked for meanwhile. */
size_t spare_rested_bytes(void);

size_t spare_mapping_bytes(void); /* address space of mappings that wait; may be read without the lock */
size_t spare_run_bytes(void);     /* the same of runs */

#endif
