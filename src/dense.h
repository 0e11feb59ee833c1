/* dense: how much of what is in use is touched in every page, as far as that is known.
 *
 * Owns what superslab decides about huge pages with. Small blocks have all of their pages touched once they were handed out. Of
 * longer ones a program may write the first bytes only, so a sample tells, kind by kind: of every eighth that began without memory, in
 * small pages, what is there is counted when the next but seven is made; of the two longest kinds the first one, too, whenever one of the
 * next eight is, until it is seen to be written whole. docs/experiments/huge-pages.md, huge-pages-of-large-blocks.md
 *
 *     kind           what it is                                             is dense
 *     DENSE_SURELY   slabs of blocks up to 8 KiB, all handed out            always
 *     DENSE_SHORT    the same, up to 12 KiB                                 as sampled; without samples, too
 *     DENSE_LONG     the same, longer                                       as sampled
 *     DENSE_RUNS     runs of units that are large blocks                    as sampled, and as seen when one is freed
 *     DENSE_LARGE    the same, of DENSE_LARGE_LEAST units and more          likewise
 *     DENSE_LARGER   ... of DENSE_LARGER_LEAST                              likewise
 *     DENSE_LARGEST  ... of the most that a run has                         likewise
 *
 * P1  a kind is known to be dense only if three quarters of what was looked at of it last, on average, were in memory (of all that was, while
 *     that is little); one of the three
 *     large ones, of which nothing was looked at, if that is so of them together
 *
 * Called by slab, spare, large and superslab, by any thread: all that is known is a hint, in relaxed atomics that pair with nothing.
 * Every call takes bounded time: a look at two runs at most.
 */
#ifndef HAKMEM_DENSE_H
#define HAKMEM_DENSE_H

#include "sizeclass.h"

enum dense_kind {
    DENSE_SURELY,
    DENSE_SHORT,
    DENSE_LONG,
    DENSE_RUNS,
    DENSE_LARGE,
    DENSE_LARGER,
    DENSE_LARGEST,
    DENSE_KINDS
};
enum dense_known { DENSE_UNKNOWN, DENSE_NO, DENSE_YES };
enum { DENSE_WATCHES = 8, DENSE_LARGE_LEAST = 3, DENSE_LARGER_LEAST = 8, DENSE_LARGEST_LEAST = 16 };

/* More (or, negated, fewer) units of a kind are in use. */
void dense_count(enum dense_kind kind, size_t units);

static inline enum dense_kind dense_kind_of_run(size_t units) {
    return units < DENSE_LARGE_LEAST     ? DENSE_RUNS
           : units < DENSE_LARGER_LEAST  ? DENSE_LARGE
           : units < DENSE_LARGEST_LEAST ? DENSE_LARGER
                                         : DENSE_LARGEST;
}

/* Of those that are known to be written whole one in DENSE_WATCHES is a probe in small pages; `since`: the caller's count. */
static inline bool dense_probe_is_due(uint32_t *since) {
    return __atomic_fetch_add(since, 1, __ATOMIC_RELAXED) % DENSE_WATCHES == DENSE_WATCHES - 1;
}

/* One of a kind begins here, a multiple of the unit, in small pages and without memory. `probe`: it is looked at in any case, when
 * the next one is noted. */
void dense_watch(enum dense_kind kind, void *start, size_t units, bool probe);

/* So many bytes of such a one were in memory when it was freed for the first time. */
void dense_tell(enum dense_kind kind, size_t resident, size_t bytes);

enum dense_known dense_known(enum dense_kind kind);

/* It was seen not to be dense, or nothing is known yet: huge pages would make it larger, and tell nothing. Neither that nor dense is what will
 * never be known. */
bool dense_is_sparse(enum dense_kind kind);

/* Units in use of the three large kinds. */
size_t dense_large_units(void);

/* Units in use that are dense; with those of kinds of which nothing is known yet if `hoped`. */
size_t dense_units(bool hoped);

/* Whoever allows no calls but those that memory takes gets no samples. Told by lifecycle once. */
void dense_refuse_samples(void);

#endif
