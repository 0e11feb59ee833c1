/* slab: one run of equal blocks, and which of them are free.
 *
 * Owns the records of slabs. A record lies apart from the blocks: no byte of a block is ever read or written
 * here, so that nothing a program does with its blocks can corrupt the heap. A free block is one bit. Blocks
 * from `carved` on were never handed out: their pages are untouched. A few below may not have been, either: they were free from
 * the start (slab_pop_apart).
 *
 *     line 0  the owner's: geometry, counts, links, which words have bits   (no atomics needed)
 *     line 1  everybody's: owner, remote summary, link of the owner's inbox (see remote), the first words of remotely
 *             freed bits, so that of most classes a sender touches no other line
 *     then    the owner's `words` words of free bits, and from a line of their own on the other remote words
 *
 * P1  free == number of free bits; no bit is set from `carved` on
 * P2  summary has a bit for a word exactly if the word has one
 * P3  a bit is set once: a second free of the same block is noticed and changes nothing
 * P4  only addresses at which a block starts change a bit
 * P5  a hand holds 2 MiB at most, and no more than it was granted: 512 KiB, and of all that all hands have beyond 8 MiB
 *
 * Used by the slab's owner only, except where remote says otherwise. Records are reused for slabs only
 * (type-stable), so that a late reader finds a slab record, if perhaps another slab's.
 */
#ifndef HAKMEM_SLAB_H
#define HAKMEM_SLAB_H

#include "superslab.h"

struct inbox; /* of the owner: see remote.h */

enum {
    SLAB_REMOTE_NEAR = 4, /* remote words in line 1 */
    SLAB_CHANGE = 1 << 16 /* one of `changes`, in `counts` */
};

struct slab {
    unsigned char *start; /* of the first block: in its first unit, see sizeclass_colour */
    struct superslab *home;
    struct slab *next, *previous; /* in a list of the heap; next also in the list of unused records */
    uint64_t summary;
    uint64_t inverse;
    /* `changes`: times that blocks were taken or put back, which tells a slab that is at rest; it goes on in the next life. `counts`: both, of which
     * a free block is counted at once: the lower half first. */
    union {
        struct {
            uint16_t free, changes;
        };
        uint32_t counts;
    };
    uint16_t carved, blocks;
    uint8_t class, words;
    uint8_t bin; /* which list of the heap it is in */
    uint8_t units;
    uint16_t bin_least, bin_most; /* free blocks for which that is the right one; fewer than carved */

    /* Atomic; each pairs as remote.h says. */
    ALIGNED(64) struct inbox *owner;
    uint64_t remote_summary;
    struct slab *inbox_next;
    /* A visitor's (see heap): how it found the slab last. */
    uint16_t seen_changes, purged_changes, purged_free;
    bool untouched; /* the owner's: it was taken where nothing was in memory; there was no place in line 0 */
    uint8_t lent;   /* enum slab_lent */
    uint64_t remote[SLAB_REMOTE_NEAR];

    ALIGNED(64) uint64_t bits[]; /* free words, then the other remote words */
};

_Static_assert(offsetof(struct slab, owner) == CACHE_LINE && sizeof(struct slab) == 2 * CACHE_LINE,
               "two lines");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "`free` is the lower half of `counts`");

static inline unsigned slab_lines(unsigned words) {
    return (words + 7) / 8;
}

/* Remote word `word` of a slab of `class`. Reads nothing of the record. */
static inline uint64_t *slab_remote_word(struct slab *slab, unsigned class, unsigned word) {
    if (LIKELY(word < SLAB_REMOTE_NEAR))
        return &slab->remote[word];
    return &slab->bits[slab_lines(sizeclass_table[class].words) * 8 + word - SLAB_REMOTE_NEAR];
}

/* Bytes of a block up to which a slab that was handed out whole is surely touched in every page, of 4 KiB: each block has its first
 * bytes on one and its last ones on the next. And up to which all but a page in three or four are. */
enum { SLAB_SURE_LARGEST = (8 << 10) + SIZECLASS_COLOUR, SLAB_SHORT_LARGEST = (12 << 10) + SIZECLASS_COLOUR };

/* With its heap; with a visitor, who gives pages of it home; as good as back (see remote_return). */
enum slab_lent { SLAB_HELD, SLAB_LENT, SLAB_RETURNED };

enum slab_verdict { SLAB_OK, SLAB_DOUBLE_FREE, SLAB_INSIDE };

/* Where its first unit starts. */
static inline unsigned char *slab_unit(const struct slab *slab) {
    return (unsigned char *)align_down((uintptr_t)slab->start, UNIT_SIZE);
}

/* Units of the shortest slab of a class: two blocks at least. */
static inline unsigned slab_units_least(unsigned class) {
    return sizeclass_table[class].size <= SIZECLASS_LARGEST / 2 + SIZECLASS_COLOUR ? 1 : 2;
}

/* What a heap has at hand since it had to wait for another thread to get a run, or give one back, for as long as that happens: runs of
 * slabs that were deleted, or that were taken in advance, each with its record. They come and go several at once. Used inside the heap's
 * `visit` only, as what follows. */
enum {
    SLAB_HAND_MOST = 16, /* runs */
    SLAB_HAND_UNITS = 32 /* 2 MiB */
};

struct slab_hand {
    struct slab *of[SLAB_HAND_MOST]; /* the oldest first */
    uint8_t count, units;
    uint8_t most; /* units that it may hold now: more with each wait, less without; 0: nothing is at hand */
    uint8_t calm; /* times in a row that nobody was waited for */
    uint8_t row;  /* runs taken from elsewhere since a slab was deleted */
    bool used;    /* since slab_hand_rest was asked last */
};

/* A slab of `class` and `units` units, or fewer where memory that was freed lies about in shorter pieces, whose owner is `owner` and
 * whose tag is `tag`. `fills`: all of its blocks will be handed out soon, as far as can be told. `hand`: where the heap's is, or NULL as long as
 * there is none. NULL: no memory. */
struct slab *slab_new(struct slab_hand **hand, unsigned class, unsigned units, bool fills,
                      struct inbox *owner, uint32_t tag);

/* The blocks' memory, and the record, are for the next slab. All blocks are free; it is in no list. Gives back at most SLAB_HAND_MOST
 * runs. */
void slab_delete(struct slab_hand **hand, struct slab *slab);

/* Whether the next slab may be one of these. */
static inline bool slab_is_at_hand(const struct slab_hand *hand) {
    return hand && hand->count > 0;
}

/* Gives back what is at hand. Nothing is until threads wait for each other again. */
NOINLINE void slab_hand_give_all(struct slab_hand *hand);

/* The same, if there is a hand. */
static inline void slab_hand_empty(struct slab_hand *hand) {
    if (UNLIKELY(hand != NULL))
        slab_hand_give_all(hand);
}

/* The same, if nothing came or went since the last call, or `now`. True: something may still be at hand. */
NOINLINE bool slab_hand_rest(struct slab_hand *hand, bool now);

/* Moves the slab to another heap: its units get the new tag. */
void slab_change_owner(struct slab *slab, struct inbox *owner, uint32_t tag);

/* Takes up to `count` free blocks, lowest first, into end[-1], end[-2] and so on: the order in which a magazine hands
 * them out. Fresh ones only when `fresh`. Returns how many. */
unsigned slab_pop(struct slab *slab, void **end, unsigned count, bool fresh);

/* The same for a slab of which nothing was carved yet, the first of its class: blocks that stand SLAB_APART bytes from each other
 * or more, so that a store to the one delays no load from the next; those between are free from now on. At most eight, and
 * SLAB_FIRST carved: less than two magazines, and half a page. docs/experiments/first-blocks-apart.md */
enum { SLAB_APART = 128, SLAB_FIRST = 56 };
unsigned slab_pop_apart(struct slab *slab, void **end, unsigned count);

/* Whole pages of which no block is in use. */
struct slab_pages {
    struct slab *slab;
    unsigned char *start;
    size_t bytes;
};

/* The next such pages, of `page` bytes each, among the blocks from *from on; then *from is the block behind them. Looks at every
 * word once at most. False: there are none. */
bool slab_find_pages(struct slab *slab, unsigned *from, size_t page, struct slab_pages *pages);

/* Puts one block back, or says why not. */
enum slab_verdict slab_push(struct slab *slab, const void *block);

/* Adds the free bits of word `word` that were freed elsewhere. Returns those that were free already or never
 * carved: misuse that changed nothing. */
uint64_t slab_push_word(struct slab *slab, unsigned word, uint64_t bits);

/* Says that blocks of word `word` were freed twice: the first of `refused`, which is not 0. */
void slab_report_refused(const struct slab *slab, unsigned word, uint64_t refused);

/* The number of the block that starts at `block`; SLAB_NO_BLOCK if none does. */
#define SLAB_NO_BLOCK UINT32_MAX
static inline uint32_t slab_block_number(const struct slab *slab, const void *block) {
    uint64_t number;
    bool starts =
        sizeclass_divide((uint64_t)((const unsigned char *)block - slab->start), slab->inverse, &number);
    return LIKELY(starts && number < slab->blocks) ? (uint32_t)number : SLAB_NO_BLOCK;
}

/* True when block `number` was ever handed out. Any thread that holds a block of the slab: relaxed, who was given a block came
 * after it was carved. */
static inline bool slab_was_carved(const struct slab *slab, uint32_t number) {
    return number < __atomic_load_n(&slab->carved, __ATOMIC_RELAXED);
}

/* Why a block of the slab's addresses could not be pushed. */
enum slab_verdict slab_why_not(const struct slab *slab, const void *block);

/* Makes the block at `offset` from the slab's start free, but for the counts. False, and nothing has changed: no block that
 * was carved starts there (P4), or it was free already (P3). */
static ALWAYS_INLINE bool slab_set_free(struct slab *slab, uint64_t offset, uint64_t inverse, uint64_t carved,
                                        uint64_t *summary) {
    uint64_t number;
    bool starts = sizeclass_divide(offset, inverse, &number);
    if (UNLIKELY(!starts || number >= carved))
        return false;
    uint64_t bits = slab->bits[number / 64];
    if (UNLIKELY(bits_set(&bits, number)))
        return false;
    __atomic_store_n(&slab->bits[number / 64], bits,
                     __ATOMIC_RELAXED); /* read by remote's check for misuse */
    bits_set(summary, number / 64);
    return true;
}

/* Makes blocks of word `word` free that were carved, but for the counts. Returns those that were free already. */
static ALWAYS_INLINE uint64_t slab_set_word(struct slab *slab, unsigned word, uint64_t bits) {
    uint64_t before = slab->bits[word];
    __atomic_store_n(&slab->bits[word], before | bits,
                     __ATOMIC_RELAXED); /* read by remote's check for misuse */
    slab->summary |= (uint64_t)(bits != 0) << word;
    return before & bits;
}

static ALWAYS_INLINE void slab_count_free(struct slab *slab, unsigned blocks) {
    slab->counts += SLAB_CHANGE + blocks;
    ASSERT(P1, slab->free <= slab->carved);
}

/* Puts one block back. False, and nothing has changed: it may not be put back; slab_why_not says why. */
static ALWAYS_INLINE bool slab_push_one(struct slab *slab, const void *block) {
    uint64_t offset = (uintptr_t)block - (uintptr_t)slab->start;
    if (!slab_set_free(slab, offset, slab->inverse, slab->carved, &slab->summary))
        return false;
    slab_count_free(slab, 1);
    return true;
}

/* Puts back the blocks at the head of blocks[], which has at least one, that lie in this slab, up to the first that does
 * not or that may not be freed. Returns how many it took: with 0 slab_why_not says why. */
static ALWAYS_INLINE unsigned slab_push_run(struct slab *slab, void *const *blocks, unsigned count) {
    uint64_t start = (uintptr_t)slab->start, inverse = slab->inverse, carved = slab->carved;
    uint64_t summary = slab->summary;
    void *const *next = blocks, *const *end = blocks + count;
    while (next < end && slab_set_free(slab, (uintptr_t)*next - start, inverse, carved, &summary))
        next++;
    slab->summary = summary;
    slab_count_free(slab, (unsigned)(next - blocks));
    return (unsigned)(next - blocks);
}

/* Two addresses of a magazine. */
typedef uintptr_t slab_two
    __attribute__((vector_size(2 * sizeof(uintptr_t)), aligned(sizeof(void *)), may_alias));

/* How many blocks at the head of blocks[], which has two at least, are `step` bytes behind the one before: eight at a time. */
static inline unsigned slab_count_row(void *const *blocks, unsigned count, uintptr_t step) {
    uintptr_t first = (uintptr_t)blocks[0];
    slab_two expected = {first, first + step};
    unsigned found = 0;
    for (; found + 8 <= count; found += 8) {
        slab_two apart = {0};
#pragma GCC unroll 4
        for (unsigned i = 0; i < 8; i += 2, expected += 2 * step)
            apart |= expected ^ *(const slab_two *)&blocks[found + i];
        if (apart[0] | apart[1])
            break;
    }
    while (found < count && (uintptr_t)blocks[found] == first + found * step)
        found++;
    return found;
}

/* The bits of blocks `from` up to `end` that are in the word of `from`. */
static ALWAYS_INLINE uint64_t slab_span(uint64_t from, uint64_t end) {
    uint64_t bits = ~0ULL << from % 64;
    return (from ^ end) < 64 ? bits & ~(~0ULL << end % 64) : bits;
}

/* Puts back `count` neighbours, the lowest of which starts there, if all of them may be. False: nothing has changed. */
static inline bool slab_push_neighbours(struct slab *slab, uintptr_t lowest, unsigned count) {
    uint64_t number, taken = 0;
    bool starts = sizeclass_divide(lowest - (uintptr_t)slab->start, slab->inverse, &number);
    uint64_t end = number + count;
    if (UNLIKELY(!starts || end > slab->carved))
        return false;
    for (uint64_t from = number; from < end; from = (from | 63) + 1)
        taken |= slab->bits[from / 64] & slab_span(from, end);
    if (UNLIKELY(taken))
        return false;
    for (uint64_t from = number; from < end; from = (from | 63) + 1)
        slab_set_word(slab, (unsigned)(from / 64), slab_span(from, end));
    slab_count_free(slab, count);
    return true;
}

/* Files the slab in a bin for as long as least..most of its blocks are free, which are not all that are carved. */
static inline void slab_set_bin(struct slab *slab, unsigned bin, unsigned least, unsigned most) {
    slab->bin = (uint8_t)bin;
    slab->bin_least = (uint16_t)least;
    slab->bin_most = (uint16_t)most;
}

static inline unsigned slab_fresh(const struct slab *slab) {
    return (unsigned)slab->blocks - slab->carved;
}

/* True when nothing of the slab is in use. */
static inline bool slab_is_empty(const struct slab *slab) {
    return slab->free == slab->carved;
}

/* Holds and releases the room's lock around fork. */
void slab_lock(bool take);

#endif
