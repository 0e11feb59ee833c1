/* sample: where live memory was allocated: some allocations are noted down, with who called for them.
 *
 * Owns what is known of those that were chosen (poisson), with a mean of `rate` bytes from one to the next of a thread.
 *
 *     site    one for each stack of callers and size class: samples taken, and of them those that are live
 *     live    one for each chosen block that was not freed yet, found by its address
 *     filter  a count for each hash of an address: a free of any other block reads one byte here, and takes no lock
 *
 * A tool reads the sites from outside (layout.def) and scales them up; nothing here ever prints.
 *
 * P1  the live ones of a site are those whose blocks are live; a block is noted before its address is handed out, and
 *     forgotten before the block goes back
 * P2  a site is complete when the list leads to it, and never goes; its counts are never ahead of each other: live <= taken
 * P3  where there is no memory, or too many are live, the sample is lost and counted; the allocation succeeds. Where there are too many
 *     stacks, new ones go to a site without callers
 *
 * Called by alloc for watched threads only. Callers are found by backtrace(3), which loads what it needs at its first call:
 * that has to be sample_prepare's, where nobody holds a lock of libc's; where there is none to be loaded it is not asked again. Of what
 * the unwinder itself allocates nothing but that is known. The room's lock has rank 10. errno is kept.
 */
#ifndef HAKMEM_SAMPLE_H
#define HAKMEM_SAMPLE_H

#include "poisson.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SAMPLE_DEPTH = 64, /* callers that are noted, the innermost */
    SAMPLE_FILTER_BITS = 13
};

struct sample_site {
    struct sample_site *older;
    struct sample_site *next; /* of the same hash */
    uint32_t depth, size_class;
    uint64_t taken, taken_bytes;
    uint64_t live, live_bytes;
    uintptr_t
        callers[]; /* return addresses, the innermost first; those in the library's own code are left out */
};

/* Told once, before there are threads: mean bytes from one sample to the next, 1: every allocation. False: no memory. */
bool sample_configure(size_t rate);

/* Until this was called, and not too early, nothing is sampled. From then on it does nothing. */
void sample_prepare(void);
bool sample_is_prepared(void);

/* A block of `bytes`, as many as were asked for, is about to be handed out; `clock` is the thread's, `caller` who called malloc, or one in
 * this library. */
void sample_took(struct poisson *clock, const void *block, size_t bytes, const void *caller);

/* A count for each hash of an address; NULL: nothing is sampled. */
extern _Atomic uint8_t *sample_filter;

/* Fibonacci hashing (Knuth, volume 3, 6.4). */
static inline size_t sample_filter_of(const void *block) {
    return (size_t)(((uintptr_t)block >> 4) * 0x9e3779b97f4a7c15u >> (64 - SAMPLE_FILTER_BITS));
}

/* False for most blocks that were not noted down. Only where samples are taken. Relaxed: whoever frees the block has got it from
 * whoever counted it. */
static inline bool sample_may_be_live(const void *block) {
    return atomic_load_explicit(&sample_filter[sample_filter_of(block)], memory_order_relaxed) != 0;
}

/* A block, of whatever kind, is about to go back. */
void sample_gone(const void *block);

/* A block may be about to go back: what is known of it is set aside, so that another one may get its address meanwhile; NULL: nothing
 * is. sample_settle says how it ended: it has gone, or is still what it was. */
struct sample_live *sample_set_aside(const void *block);
void sample_settle(struct sample_live *live, bool gone);

/* Holds and releases the room's lock around fork. */
void sample_lock(bool take);

#endif
