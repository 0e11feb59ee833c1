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
 * P3  at most SPARE_RECENT blocks are on the stacks of those freed last, with fewer bytes in memory and in addresses than it was
 *     told, the first as last measured
 *
 * Called by large alone, under large's lock, or inside the `visit` of what a stack lies in; it never waits, maps or allocates. Every call takes bounded time:
 * SPARE_WORDS words of a bitmap, and SPARE_LOOKS blocks of each bin that may do.
 */
#ifndef HAKMEM_SPARE_H
#define HAKMEM_SPARE_H

#include "seams.h"
#include "superslab.h"

enum {
    SPARE_WORDS = 12,
    SPARE_LOOKS = 8,
    SPARE_EXACT = 32,
    SPARE_STEPS_SHIFT = 4,
    SPARE_RECENT = 256, /* docs/experiments/large-blocks-that-wait.md */
    SPARE_RECENT_BINS = 64
};

struct large_hand;

/* The record of a large block: large's while the block lives, spare's while it waits. What a block needs that comes and goes at
 * hand is in its first line of the cache. */
struct large {
    unsigned char *start;   /* what the program has, in the block's first unit; waiting: that unit */
    size_t bytes;           /* in use, from the unit on: a multiple of it */
    size_t extent;          /* all that stands there: bytes, and slack to grow into */
    size_t resident;        /* waiting: bytes of it that the kernel holds, as last measured */
    struct superslab *home; /* NULL: a mapping */
    union {
        struct large *next; /* waiting: in its bin; else in any other list of large's */
        const struct large_hand
            *taken_by; /* live: the hand of who took it, where threads take turns; a hint */
    };
    uint16_t every, due; /* frees from one measuring to the next (0: not measured yet), and left until then */
    uint32_t looked;     /* units that it had when it was looked at while it grew */
    bool grew;           /* since it was handed out: the next one of its kind will, too */
    bool whole;          /* ... it is written whole, which that showed */
    bool fresh;          /* a run began without memory, in small pages, and has told nothing yet */
    bool given;          /* a mapping has pages that others have touched: they tell nothing */
    bool huge;           /* a mapping's new pages are huge ones, as far as is known */
    bool solid;          /* a mapping consists of huge pages alone, and is cut only between them */
    union {
        struct {
            bool roomy;   /* live: it has slack that can be taken back */
            bool rounded; /* live: lengths.rounding has its part */
        };
        uint16_t counted; /* either */
    };
    uint32_t since;              /* ... since this look of large's */
    unsigned place;              /* waiting: in large's table */
    struct seams seams;          /* of a mapping */
    struct large *before;        /* waiting: in its bin */
    struct large *newer, *older; /* by age */
};

/* Which of those that wait: all, mappings, or mappings that may be torn. */
enum spare_kind { SPARE_ANY, SPARE_MAPPING, SPARE_TORN };

/* Blocks by age. */
struct spare_ages {
    struct large *oldest, *newest;
};

void spare_age_add(struct spare_ages *ages, struct large *large);
void spare_age_remove(struct spare_ages *ages, struct large *large);

/* The bin of blocks of this size, a multiple of the unit, rounded down. */
static inline unsigned spare_bin(size_t bytes) {
    size_t units = bytes >> UNIT_SHIFT;
    if (units < SPARE_EXACT)
        return (unsigned)units;
    unsigned shift = bits_highest(units) - SPARE_STEPS_SHIFT;
    return (shift << SPARE_STEPS_SHIFT) + (unsigned)(units >> shift);
}

/* The least size from `bytes` on that begins a bin: at most a sixteenth more. */
static inline size_t spare_round(size_t bytes) {
    size_t units = bytes >> UNIT_SHIFT;
    return units < SPARE_EXACT
               ? bytes
               : align_up(bytes, (size_t)UNIT_SIZE << (bits_highest(units) - SPARE_STEPS_SHIFT));
}

void spare_put(struct large *large);

/* The smallest that has `bytes` (a result of spare_round) to `most` bytes; NULL if none has. It still waits. */
struct large *spare_find(size_t bytes, size_t most, size_t alignment, enum spare_kind kind);

/* Takes it. */
struct large *spare_take(size_t bytes, size_t most, size_t alignment, enum spare_kind kind);

/* Takes the longest mapping that may be torn of less than `bytes` (a result of spare_round) and at least `least`; NULL if there is none. */
struct large *spare_take_shorter(size_t bytes, size_t least);

/* The one that waits longest, NULL if none does. It still waits. */
struct large *spare_oldest(void);

void spare_remove(struct large *large);

size_t spare_resident_bytes(void); /* may be read without the lock */

size_t spare_mapping_bytes(void); /* address space of mappings that wait; may be read without the lock */
size_t spare_run_bytes(void);     /* the same of runs */
size_t
spare_waiting_bytes(void); /* of both: the most that can be in memory, however long ago it was measured */

/* The least that the last were since the last call of this function: what nobody has asked for meanwhile. */
size_t spare_rested_bytes(void);

/* The blocks freed last, at hand: on stacks, one for each of the first bins. A block here is in no other list and no other
 * sum: to put one here and to take it again is a handful of stores. It comes to wait in order when large gathers it. */
struct spare_recent {
    _Alignas(
        CACHE_LINE) uint64_t filled; /* a bit a stack that has blocks, or had when it was looked at last */
    size_t resident;                 /* bytes of them in memory, as last measured */
    size_t bytes;                    /* address space of them; may be read without the lock */
    unsigned count;
    struct large *stack[SPARE_RECENT_BINS]; /* by next */
};

static inline void spare_recent_count(struct spare_recent *recent, size_t resident, size_t bytes,
                                      unsigned blocks) {
    recent->resident += resident;
    __atomic_store_n(&recent->bytes, recent->bytes + bytes, __ATOMIC_RELAXED);
    recent->count += blocks;
}

/* False: there are blocks enough, or `most` bytes of them would be in memory as last measured, or `extents` in addresses, as what was
 * measured too long ago could be a multiple of that. docs/experiments/large-blocks-that-wait.md */
static inline bool spare_recent_put(struct spare_recent *recent, struct large *large, size_t most,
                                    size_t extents) {
    unsigned bin = spare_bin(large->extent);
    if (UNLIKELY(bin >= SPARE_RECENT_BINS || recent->count == SPARE_RECENT ||
                 recent->resident + large->resident >= most || recent->bytes + large->extent >= extents))
        return false;
    large->next = recent->stack[bin];
    recent->stack[bin] = large;
    recent->filled |= 1ULL << bin;
    spare_recent_count(recent, large->resident, large->extent, 1);
    return true;
}

/* The first stack that has blocks of `bytes` (a result of spare_round) to `most` bytes; SPARE_RECENT_BINS if there is none. Who takes the
 * last one of a stack leaves its bit to this. */
static inline unsigned spare_recent_bin(struct spare_recent *recent, size_t bytes, size_t most) {
    unsigned first = spare_bin(bytes), last = spare_bin(most);
    uint64_t filled = first < SPARE_RECENT_BINS ? recent->filled >> first << first : 0;
    for (; filled; filled &= filled - 1) {
        unsigned bin = bits_lowest(filled);
        if (bin > last)
            break;
        if (LIKELY(recent->stack[bin] != NULL))
            return bin;
        recent->filled &= ~(1ULL << bin);
    }
    return SPARE_RECENT_BINS;
}

/* The newest one of the smallest size from `bytes` to `most` bytes, as above; NULL if there is none. */
static inline struct large *spare_recent_find(struct spare_recent *recent, size_t bytes, size_t most) {
    unsigned bin = spare_recent_bin(recent, bytes, most);
    return bin < SPARE_RECENT_BINS ? recent->stack[bin] : NULL;
}

/* Takes the newest one of a stack; NULL: there is none. */
static inline struct large *spare_recent_pop(struct spare_recent *recent, unsigned bin) {
    struct large *large = recent->stack[bin];
    if (!large)
        return NULL;
    recent->stack[bin] = large->next;
    spare_recent_count(recent, -large->resident, -large->extent, -1u);
    return large;
}

/* Takes what spare_recent_find finds. */
static inline struct large *spare_recent_take(struct spare_recent *recent, size_t bytes, size_t most) {
    unsigned bin = spare_recent_bin(recent, bytes, most);
    struct large *large = bin < SPARE_RECENT_BINS ? spare_recent_pop(recent, bin) : NULL;
    ASSERT(P1, !large || large->extent >= bytes);
    return large;
}

#endif
