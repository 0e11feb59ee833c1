/* large: one block, one run of units, or one mapping.
 *
 * Owns blocks above the largest size class. Up to 1 MiB a block is a run of units in a superslab; above, or for alignments above a unit, it is a
 * mapping of its own. A freed block waits whole (spare.h) for the next request of nearly its size: a program that takes and returns large buffers
 * makes no system calls and faults no pages. How much of it is in memory is measured at its first free, then less and less often while that hardly
 * changes, down to each LARGE_MEASURE_MOST-th; of a mapping the second time by one page only. What live and waiting blocks hold
 * stays together within three sixteenths above what was once live, and where a new one would bring it above what was once live, what waits serves it.
 * Of what waits longest only the end goes home, as much as is too much. A block that grows is copied into what waits, is warm and has room for it;
 * else it takes its pages along (mremap), into a longer mapping that waits if there is one, and keeps the rest as slack. So does one that shrinks.
 *
 * A mapping gets huge pages where those of its size before it were written whole (huge.h), and one that grows where it was itself. Of a long block
 * (above LARGE_LONG) all counts, because the next one may touch what the last one has not. Where none of nearly the size waits, a longer one serves
 * and lends the rest as slack, or the longest is stretched, and only its new pages are faulted. Slack goes home as what waits does. Where threads
 * take turns each has a hand: runs that it freed last. Many runs that are written whole lie in fields instead, and many longer blocks of many lengths, and never wait; few such
 * blocks are solid: mappings of whole huge pages, which nobody tears, and any of which serves what is shorter (lengths.h).
 *
 * P1  a record in use describes exactly one live block, and its first unit has its tag; one at hand has that, too, but another start
 * P2  what waits holds at most the configured bytes in memory, as measured, in LARGE_WAITING_FEW blocks, or MOST while that is SPARSE at most
 * P3  nothing is unmapped that this room did not map; what cannot be unmapped is kept for reuse
 * P4  what threads have at hand is bounded, for each and in all; it is nobody else's until its thread goes, or a visitor comes
 *
 * Any thread may call everything here; one lock of rank 7 (favour.h), held for a bounded search, never during a system call, but when a part that is
 * cut off needs a piece of the pagemap, or a hand its lists, nor inside a hand's `visit`. One call gives up at most LARGE_GIVE_UP waiting blocks for each
 * of those that it lets wait (twice as many for a solid one; nine where a hand is too full, 64 where one goes), and as many for each that gives it pages.
 */
#ifndef HAKMEM_LARGE_H
#define HAKMEM_LARGE_H

#include "favour.h"
#include "spare.h"
#include "visit.h"

#define LARGE_LONG (4 * MIB) /* a block of more is long */
/* Bytes in memory of one hand, as measured: when hands are many, to begin with, and where a thread frees what it took itself.
 * docs/experiments/large-blocks-at-hand.md */
#define LARGE_HAND_LEAST (1 * MIB)
#define LARGE_HAND_FIRST (2 * MIB)
#define LARGE_HAND_MOST (7 * MIB / 2)

#define LARGE_WAITING_SPARSE (8 * MIB)
/* Bytes that wait, or are put by, before they go to blocks of another kind: less is worth no call (docs/decisions/0010). */
#define LARGE_YIELD_LEAST (1 * MIB)

enum {
    LARGE_WAITING_FEW = 256,
    LARGE_WAITING_MOST = 2048, /* docs/experiments/large-blocks-that-wait.md */
    LARGE_MEASURE_FIRST = 16,  /* docs/experiments/large-blocks-at-hand.md */
    LARGE_MEASURE_TIMES = 16,
    LARGE_MEASURE_SAME =
        4, /* the part of a block by which what is in memory of it may change, and be the same still */
    LARGE_MEASURE_MOST = 4096,
    LARGE_GIVE_UP = 32,
    LARGE_RECENT_EXTENT = 4,    /* times as many addresses as bytes in memory may be freed last */
    LARGE_REFILL = 8,           /* blocks that come to hand at once */
    LARGE_HAND_OWN = 8,         /* times in a row that say that a thread frees what it took itself */
    LARGE_PEAK_SIXTEENTHS = 19, /* of what was once live: what live and waiting blocks may hold together */
    LARGE_STRETCH = 8,          /* times as long as it was may become what waits */
    LARGE_LENDS = 4,            /* times as long as what is wanted may be what serves */
    LARGE_WIDENS = 2,           /* ... what serves a block that grows */
    LARGE_YIELD = 4,     /* times as much as would come anew goes of what waits: the next ones find it, too */
    LARGE_SIZES = 16,    /* of blocks that were not at hand, by chance: whether one comes again */
    LARGE_TAIL_LEAST = 8 /* the part of a run that is worth a call to give home when it is not asked for */
};

/* What one thread has freed last and takes first, while several take large blocks by turns. It goes on counting as live. Lies in the
 * thread's heap, all zero to begin with. docs/experiments/large-blocks-at-hand.md */
struct large_hand {
    struct favour_seat seat; /* first, as large_hand_mine has it: the thread's, at locks with a favourite */
    struct visit visit;      /* the thread's, or a visitor's */
    struct spare_recent *recent; /* NULL: it never held anything; written once */
    uint32_t uses,
        seen; /* by the thread, and what they were at a visitor's last look; atomic, relaxed: a hint */
    bool may; /* it may hold something; else it holds nothing. As `uses` */
    bool low; /* it was nearly empty; this and the next three are its thread's only */
    uint8_t
        own; /* times in a row that it was full, and what came was what its thread took; up to LARGE_HAND_OWN */
    uint32_t next; /* the least units of a block that it gives away next */
    size_t most;   /* bytes in memory that it may hold, as it was when it was considered last, or full */
};

/* What was freed last, in a hand or where all find it, is said to start there, in bytes from its start: in the unit before it, which is
 * another's, so that no address of its own is that. Then its tag may stay: it lies on a line of the cache with those of other threads'
 * blocks, and is not written for each block. */
enum { LARGE_AT_HAND = -UNIT_SIZE };

/* Whether it is the start of one at hand, which is nobody's; and not in the second unit of one that is live. */
static inline bool large_was_freed(const struct large *large, const void *block) {
    return large->start == (const unsigned char *)block + LARGE_AT_HAND &&
           pagemap_tag(block) != PAGEMAP_RUN_INSIDE;
}

/* Where a block begins, live or waiting: from there on all else counts. */
static inline unsigned char *large_unit(const struct large *large) {
    return (unsigned char *)((uintptr_t)large->start & -(uintptr_t)UNIT_SIZE);
}

/* Bytes from there to what the program has. */
static inline size_t large_colour(const struct large *large) {
    return (uintptr_t)large->start & (UNIT_SIZE - 1);
}

/* Bytes of a live block that the program may use. */
static inline size_t large_usable(const struct large *large) {
    return large->bytes - large_colour(large);
}

/* The calling thread's hand; NULL: it has none. It is found by its seat, which heap tells favour when the thread moves in: one
 * thread-local word for both. */
static inline struct large_hand *large_hand_mine(void) {
    return (struct large_hand *)favour_seat;
}

/* It may hold something: a hint. */
static inline bool large_hand_is_used(const struct large_hand *hand) {
    return __atomic_load_n(&hand->may, __ATOMIC_RELAXED);
}

/* Empties a hand: its thread's own call, or nobody has it. */
void large_hand_empty(struct large_hand *hand);

/* In a forked process, of each heap: whether it may hold something still. Whose thread has stayed behind in the middle of a call does
 * not: that is lost, as is what was in nobody's hands then. Then, how many may. */
bool large_hand_in_child(struct large_hand *hand);
void large_hands_in_child(unsigned hands);

/* Empties anybody's, if nothing was taken or put since the last look (or, `now`, in any case). Returns whether it holds
 * something still. One visitor at a time. */
bool large_hand_visit(struct large_hand *hand, bool now);

/* The hit: a block of at least `size` bytes, more than zero, that was freed last: of just as many units for the room's favourite, of
 * nearly as many for who has a hand. `hand` is the calling thread's. NULL: there is none, and large_new is to look further. */
void *large_again(struct large_hand *hand, size_t size);

/* The other way: the block of a record comes to hand, as large_delete has it. False: nothing has changed, and large_delete is next. */
bool large_rest(struct large *large, struct large_hand *hand);

/* A block of at least `size` bytes at a multiple of `alignment`; *zeroed says whether it reads as zero.
 * NULL: no memory. */
void *large_new(size_t size, size_t alignment, bool *zeroed);

/* The same for what has grown from `from` bytes, and may go on: a new run gets a place with room behind it. If it was a run that
 * found none where it stood, no block that waits serves, which may stand as badly; but for a longer one, which is only copied
 * into what waits, one that has room for more serves. *zeroed as above. docs/experiments/growing-runs.md */
void *large_new_to_grow(size_t size, size_t from, bool *zeroed);

/* Makes the first `bytes` of a block read as zero. Pages of a mapping that are not in memory stay missing. Returns the block. */
void *large_clear(void *block, size_t bytes);

/* Frees the block of a record; afterwards the pagemap no longer knows its start, or large_was_freed is true of it. */
void large_delete(struct large *large);

/* Makes the block at least `size` bytes long, possibly elsewhere, without copying bytes. Returns its start,
 * NULL when that cannot be done without copying (the block is as it was). Shrinks where that saves memory. */
void *large_resize(struct large *large, size_t size);

/* Gives up what waits, oldest first, until at most `keep` bytes of it wait, and the slack of live blocks; no more than `most` of
 * them. Runs go to their superslabs, where they are dirty. Returns the bytes that went home. */
size_t large_purge(size_t keep, unsigned most);

/* New memory would come for small blocks: so many bytes of the runs that have waited longest go to their superslabs instead, if
 * LARGE_YIELD_LEAST bytes wait at least. docs/experiments/phases-of-other-lengths.md */
void large_yield(size_t bytes);

/* Gives home what has waited since the last call of this function, and was not needed once, and the slack of live blocks
 * that is as old. Returns the bytes. */
size_t large_purge_rested(void);

/* Bytes of blocks that wait for the next request, the slack of live ones, and what hands may hold: the last as measured, else all that may be in memory, since what was
 * measured may be long ago. */
size_t large_waiting_bytes(void);

/* Bytes in memory that may wait; told by lifecycle once. */
void large_configure(size_t cache_bytes);

/* Whether blocks that are longer than a run may lie in fields: where what is free there may rest as long as the process stays within its
 * own peak, and goes home then. Told by lifecycle once. docs/experiments/fields.md */
void large_keep_longer(bool keep);

size_t large_mapped_bytes(void); /* mappings, live and waiting */
size_t large_cached_bytes(void); /* those that wait */

/* Holds and releases the room's lock around fork. */
void large_lock(bool take);

#endif
