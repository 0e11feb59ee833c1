/* huge: whether what the program does with its large blocks is worth huge pages.
 *
 * Owns what is known of that. A huge page comes with one fault instead of 512; but of a program that writes a byte here and there
 * it makes 512 pages resident for one. So small pages come first, and tell: where the pieces of a block that were touched at all
 * were touched nearly whole, the next blocks get huge pages. A program may have tables that it touches here and there beside buffers
 * that it fills: so what a block tells, it tells of those of its size, which are all within one doubling from HUGE_TELLS on.
 * Where blocks of a size are written whole, the first one that is twice as long has huge pages too, as of a vector that grows: but its first
 * HUGE_HEAD bytes, which tell of those of its size. And the first long ones of all are looked at while they are written (huge_await).
 * docs/experiments/huge-pages-of-large-blocks.md, first-long-blocks.md
 *
 * P1  no new mapping is to get huge pages before one of its size with small pages was seen to be written whole, or after one was not; but one
 *     of which all that is known is that those of half its size are
 * P2  each HUGE_PROBE-th block of a size has small pages, so that what is known stays true
 * P3  of a mapping that is written for the first time nothing is asked for once it is to be another one (huge_forget)
 *
 * Called by large, by any thread, under no lock but for huge_known and huge_fills, and by janitor: what is known is a hint, in relaxed atomics that pair with
 * nothing.
 * Each call takes bounded time (pages_resident).
 */
#ifndef HAKMEM_HUGE_H
#define HAKMEM_HUGE_H

#include "base.h"
#include "pages.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define HUGE_LEAST \
    ((size_t)PAGES_AREA) /* bytes of a block that a huge page fits into; and where one begins */
#define HUGE_TELLS MIB   /* bytes of the shortest block that tells: it may share a huge page with others */
#define HUGE_HEAD (256 * KIB) /* bytes: 64 small pages */
enum { HUGE_PROBE = 32, HUGE_SIZES = 9, HUGE_AHEAD = 8 };

/* How blocks of a size are written. */
enum huge_known { HUGE_UNKNOWN, HUGE_SPARSE, HUGE_WHOLE };

/* Whether a new block of so many bytes is to be in huge pages; if a mapping of HUGE_LEAST or more, then it is to begin at a multiple of
 * that. Of each HUGE_PROBE-th the answer is no, and the one before it is looked at. */
bool huge_wants(size_t bytes);

/* Whether a new mapping of so many bytes is the first of its size, where those of half its size are written whole. It is to get huge pages, too, and to
 * begin HUGE_HEAD bytes before a multiple of HUGE_LEAST: so much of it has small pages, and tells. */
bool huge_follows(size_t bytes);

/* Whether that begins there, or would. */
static inline bool huge_is_head(const void *start) {
    return ((uintptr_t)start + HUGE_HEAD) % HUGE_LEAST == 0;
}

/* Whether that would be the next answer: for who has huge pages elsewhere than in a mapping, which then is to be made. */
bool huge_probe_is_due(size_t bytes);

/* What is known by now; looks at nothing. */
enum huge_known huge_known(size_t bytes);

/* Whether they are known to be written whole, and huge pages may be asked for; looks at nothing. */
bool huge_fills(size_t bytes);

/* Whether huge pages may be asked for, and nothing is known yet; looks at nothing. */
bool huge_is_unknown(size_t bytes);

/* Whether a mapping that has huge pages may become one of so many bytes, HUGE_LEAST or more. */
bool huge_suits(size_t bytes);

/* Asks for huge pages for what is not yet in memory of a mapping of ours. Returns whether the kernel heard. */
bool huge_ask(void *start, size_t bytes);

/* A mapping with small pages was made, or a head in one of so many bytes, HUGE_TELLS or more: it is looked at before the next one of its size is made.
 * NULL: the last one tells nothing. */
void huge_watch(const void *start, size_t bytes);

/* What is in memory of such a mapping was looked at when its block went: what that shows holds from here on of those of its size.
 * It is watched no more, as the next block in it may be of another size. */
void huge_learn(const void *start, size_t bytes, enum pages_density density);

/* Another one's block went: what is watched of it is looked at, and watched no more. */
void huge_leave(const void *start, size_t bytes);

/* Looks at one, and learns from it, if it has HUGE_TELLS bytes. Returns whether it was written whole. */
bool huge_look(const void *start, size_t bytes);

/* A new mapping with small pages is to be looked at while it is written, if it is long, and nothing is known of its size. Of more than HUGE_AHEAD the
 * last ones. */
void huge_await(void *start, size_t bytes);

/* One of so many bytes that begins there, if it is awaited, is no more, is cut, grows or moves: from here on nothing is asked for there. Before that
 * is so. */
void huge_forget(const void *start, size_t bytes);

/* True once one is awaited: somebody is to look at it, who clears that. Relaxed: a hint. */
extern _Atomic bool huge_is_awaited;

/* Looks at them: what is not written yet of those that are written whole gets huge pages. Returns whether a look again soon may tell more. Called by
 * janitor, as nobody else has time. */
bool huge_look_ahead(void);

/* After fork: nothing is awaited, and nobody holds a lock. */
void huge_in_child(void);

/* Whether anything may be asked for. Told by lifecycle once. */
void huge_configure(bool huge_pages);

#endif
