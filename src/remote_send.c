/* The sender's half of remote: what an outbox holds, sorted by words, or block by block where hardly two lie in one. */
#include "remote_parts.h"

#include <string.h>

enum {
    PARCELS = 128,        /* words of bits that a sender keeps open */
    PLACES = 4 * PARCELS, /* of the table that finds them */
    PLACES_LOG2 = 9,
    IN_ORDER = 3,                /* blocks a word, at least, of what came in order */
    TOLD_BY = OUTBOX_BLOCKS / 4, /* blocks in a send, at least */
    TRIED_EACH = 16,             /* sends */
    LONELY = 3,                  /* words, at least, for */
    LONELY_OF = 4,               /* blocks that are taken to be alone */
    SINGLES = 16                 /* of which the words are fetched at once */
};

/* Blocks of one word of one slab. */
struct parcel {
    uint64_t key; /* start of the slab's first unit, class, word */
    uint64_t bits;
    struct slab *slab;
};

/* Those that are open, and how one is found.
 *
 * Blocks that were allocated after one another mostly come back after one another, but for those of other classes between them: then
 * each is compared with the last word of its class, and what is not of it begins a parcel. Where they come in any order that would make
 * a parcel of most blocks: then a table finds the word's, at its place or behind; it is at most a quarter full.
 * docs/experiments/batched-remote-frees.md */
struct parcels {
    unsigned count, sent; /* that are open; all that were sent */
    union {
        uint8_t place[PLACES];           /* which parcel, from 1 on; 0: none */
        uint32_t bytes[SIZECLASS_COUNT]; /* that the blocks of the class's last word take; 0: there is none */
    };
    struct last {
        uint64_t start, inverse; /* of the word's first block; of the class */
        struct parcel *parcel;
    } last[SIZECLASS_COUNT];
    struct parcel parcel[PARCELS];
};

static void remote_begin(struct parcels *parcels, bool scattered) {
    parcels->count = 0;
    if (scattered)
        memset(parcels->place, 0, sizeof parcels->place);
    else
        memset(parcels->bytes, 0, sizeof parcels->bytes);
}

static uint64_t parcel_key(uint64_t start, unsigned class, uint64_t word) {
    return align_down(start, UNIT_SIZE) | (uint64_t) class << 8 | word;
}

static unsigned parcel_class(const struct parcel *parcel) {
    return parcel->key >> 8 & 0xff;
}

static unsigned parcel_word(const struct parcel *parcel) {
    return parcel->key & 0xff;
}

static size_t parcel_place(uint64_t key) {
    return key * 0x9e3779b97f4a7c15 >> (64 - PLACES_LOG2); /* by Fibonacci's hashing (Knuth 1973) */
}

static ALWAYS_INLINE void remote_set(struct slab *slab, unsigned class, unsigned word, uint64_t bits) {
    uint64_t refused = remote_set_bits(slab, class, word, bits);
    if (UNLIKELY(refused))
        slab_report_refused(slab, word, refused);
}

static void remote_send_parcels(struct parcels *parcels) {
    for (struct parcel *parcel = parcels->parcel, *end = parcel + parcels->count; parcel < end; parcel++)
        remote_set(parcel->slab, parcel_class(parcel), parcel_word(parcel), parcel->bits);
    parcels->sent += parcels->count;
}

/* A parcel for a key that has none; NULL when its slab went home meanwhile. */
static struct parcel *remote_open(struct parcels *parcels, uint64_t key, const void *block) {
    struct slab *slab = pagemap_record(block);
    if (UNLIKELY(!slab))
        return NULL;
    struct parcel *parcel = &parcels->parcel[parcels->count++];
    *parcel = (struct parcel){.key = key, .slab = slab};
    return parcel;
}

/* The one that has it, by the table; or as above. */
static ALWAYS_INLINE struct parcel *remote_find(struct parcels *parcels, uint64_t key, const void *block) {
    size_t place = parcel_place(key);
    for (; parcels->place[place]; place = (place + 1) % PLACES) {
        struct parcel *parcel = &parcels->parcel[parcels->place[place] - 1];
        if (parcel->key == key)
            return parcel;
    }
    struct parcel *parcel = remote_open(parcels, key, block);
    if (LIKELY(parcel != NULL))
        parcels->place[place] = (uint8_t)parcels->count;
    return parcel;
}

/* A class, if the block may be one of a slab. */
static ALWAYS_INLINE unsigned remote_kind(const void *block) {
    size_t unit = pagemap_unit(block);
    return pagemap_kind(LIKELY(unit < PAGEMAP_WINDOW_UNITS) ? pagemap_tag_in_window(unit)
                                                            : pagemap_tag(block));
}

/* Packs a block of the last word of its class. False: it is not, or may not be freed, and nothing has changed. */
static ALWAYS_INLINE bool remote_pack_again(struct parcels *parcels, unsigned class, const void *block) {
    if (UNLIKELY(class >= SIZECLASS_COUNT))
        return false;
    const struct last *last = &parcels->last[class];
    uint64_t offset = (uintptr_t)block - last->start, number;
    return offset < parcels->bytes[class] && sizeclass_divide(offset, last->inverse, &number) &&
           !bits_set(&last->parcel->bits, number);
}

/* Where a block lies. */
struct located {
    const struct sizeclass *geometry;
    uint64_t start, blocks; /* of its slab */
    uint64_t number;
};

/* False when no block of a slab starts there, and *why then says why. The record of a slab of one unit is not read: its
 * owner writes that line all the time. */
static ALWAYS_INLINE bool remote_locate(const void *block, unsigned class, struct located *at,
                                        enum misuse *why) {
    *why = MISUSE_DOUBLE_FREE; /* its slab went home meanwhile */
    if (UNLIKELY(class >= SIZECLASS_COUNT))
        return false;
    at->geometry = &sizeclass_table[class];
    uintptr_t unit = (uintptr_t)block >> UNIT_SHIFT;
    at->start = (unit << UNIT_SHIFT) + sizeclass_colour(at->geometry, unit);
    at->blocks = sizeclass_blocks(at->geometry, 1, unit);
    if (UNLIKELY(at->geometry->units > 1)) {
        const struct slab *slab = pagemap_record(block);
        if (!slab)
            return false;
        at->start = (uintptr_t)slab->start;
        at->blocks = slab->blocks;
    }
    *why = MISUSE_INSIDE;
    return LIKELY(sizeclass_divide((uintptr_t)block - at->start, at->geometry->inverse, &at->number) &&
                  at->number < at->blocks);
}

/* The blocks of one word of bits. */
struct word {
    uint64_t start, blocks;
};

static ALWAYS_INLINE struct word remote_word(const struct located *at) {
    uint64_t first = at->number / 64 * 64, left = at->blocks - first;
    return (struct word){at->start + first * at->geometry->size, left < 64 ? left : 64};
}

static ALWAYS_INLINE void remote_note_last(struct parcels *parcels, unsigned class, const struct located *at,
                                           struct parcel *parcel) {
    struct word word = remote_word(at);
    parcels->last[class] = (struct last){word.start, at->geometry->inverse, parcel};
    parcels->bytes[class] = (uint32_t)(word.blocks * at->geometry->size);
}

/* Sets the bits of those at the head of blocks[] that lie in the word of `at`. Returns how many. Relative to its first block, so that one
 * comparison tells whether it is the same word. */
static ALWAYS_INLINE unsigned remote_pack_neighbours(const struct located *at, uint64_t *bits,
                                                     void *const *blocks, unsigned count) {
    struct word word = remote_word(at);
    uint64_t inverse = at->geometry->inverse, set = *bits, number;
    unsigned done = 0;
    while (done < count && sizeclass_divide((uintptr_t)blocks[done] - word.start, inverse, &number) &&
           number < word.blocks && !bits_set(&set, number))
        done++;
    *bits = set;
    return done;
}

/* Packs the blocks at the head of blocks[] that lie in one word. Returns how many: 0 when the first may not be freed,
 * and *why says why. When there are too many parcels, all of them go first. */
static ALWAYS_INLINE unsigned remote_pack(struct parcels *parcels, unsigned class, void *const *blocks,
                                          unsigned count, bool scattered, enum misuse *why) {
    struct located at;
    if (UNLIKELY(!remote_locate(blocks[0], class, &at, why)))
        return 0;
    if (UNLIKELY(parcels->count == PARCELS)) {
        remote_send_parcels(parcels);
        remote_begin(parcels, scattered);
    }
    *why = MISUSE_DOUBLE_FREE;
    uint64_t key = parcel_key(at.start, class, at.number / 64);
    struct parcel *parcel =
        scattered ? remote_find(parcels, key, blocks[0]) : remote_open(parcels, key, blocks[0]);
    if (UNLIKELY(!parcel))
        return 0;
    uint64_t bits = parcel->bits;
    unsigned done = bits_set(&bits, at.number) ? 0 : 1;
    if (done == 1 && count > 1 && pagemap_same_unit(blocks[0], blocks[1]))
        done += remote_pack_neighbours(&at, &bits, blocks + 1, count - 1);
    parcel->bits = bits;
    if (!scattered)
        remote_note_last(parcels, class, &at, parcel);
    return done;
}

static ALWAYS_INLINE void remote_pack_all(struct parcels *parcels, void *const *blocks, unsigned count,
                                          bool scattered) {
    remote_begin(parcels, scattered);
    for (unsigned packed; count > 0; count -= packed, blocks += packed) {
        enum misuse why;
        unsigned class = remote_kind(*blocks);
        packed = 1;
        if (!scattered && remote_pack_again(parcels, class, *blocks))
            continue;
        packed = remote_pack(parcels, class, blocks, count, scattered, &why);
        if (UNLIKELY(packed == 0)) {
            misuse_report(why, *blocks);
            packed = 1;
        }
    }
}

/* Sorts what is there by words first. */
static NOINLINE void remote_send_sorted(struct outbox *outbox, unsigned count) {
    struct parcels parcels;
    bool scattered = outbox->scattered > 0;
    parcels.sent = 0;
    if (scattered)
        remote_pack_all(&parcels, outbox->blocks, count, true);
    else
        remote_pack_all(&parcels, outbox->blocks, count, false);
    remote_send_parcels(&parcels);
    if (scattered) {
        outbox->scattered--;
        if (count >= TOLD_BY && parcels.sent * LONELY_OF > count * LONELY)
            outbox->alone = TRIED_EACH - 1;
    } else if (count >= TOLD_BY && parcels.sent * IN_ORDER > count) {
        outbox->scattered = TRIED_EACH - 1;
    }
}

/* ---- one by one ---- */

/* What is to be set for one block. */
struct single {
    struct slab *slab;
    uint64_t bit;
    unsigned class, word;
};

/* True if a block of a slab of one unit starts there, in the window. Then neither the slab's record nor how many blocks it has needs to be
 * read: the block ends where the unit does, or before. */
static FETCHES ALWAYS_INLINE bool remote_single(const void *block, struct single *single) {
    size_t unit = pagemap_unit(block);
    if (UNLIKELY(unit >= PAGEMAP_WINDOW_UNITS))
        return false;
    unsigned class = pagemap_kind(pagemap_tag_in_window(unit));
    if (UNLIKELY(class >= SIZECLASS_COUNT))
        return false;
    const struct sizeclass *geometry = &sizeclass_table[class];
    uint64_t offset = (uintptr_t)block % UNIT_SIZE, number;
    if (UNLIKELY(geometry->units > 1 || offset + geometry->size > UNIT_SIZE ||
                 !sizeclass_divide(offset - sizeclass_colour(geometry, unit), geometry->inverse, &number) ||
                 number >= geometry->blocks))
        return false;
    struct slab *slab = pagemap_record_in_window(unit);
    if (UNLIKELY(!slab))
        return false;
    *single = (struct single){slab, 1ULL << number % 64, class, (unsigned)(number / 64)};
    __builtin_prefetch(slab_remote_word(slab, class, single->word), 1);
    return true;
}

/* Any other block, at once. */
static NOINLINE void remote_send_one(const void *block) {
    struct located at;
    enum misuse why;
    unsigned class = remote_kind(block);
    bool found = remote_locate(block, class, &at, &why);
    struct slab *slab = found ? pagemap_record(block) : NULL;
    if (LIKELY(slab != NULL))
        remote_set(slab, class, (unsigned)(at.number / 64), 1ULL << at.number % 64);
    else
        misuse_report(found ? MISUSE_DOUBLE_FREE : why, block);
}

/* Blocks that are nearly all alone in their words: to sort them would cost more than it saves. The words of some are fetched at once, before the
 * first of them is written. */
static FETCHES void remote_send_singly(void *const *blocks, unsigned count) {
    struct single singles[SINGLES];
    for (void *const *end = blocks + count; blocks < end;) {
        unsigned found = 0;
        for (void *const *last = end - blocks < SINGLES ? end : blocks + SINGLES; blocks < last; blocks++)
            if (LIKELY(remote_single(*blocks, &singles[found])))
                found++;
            else
                remote_send_one(*blocks);
        for (struct single *single = singles; single < singles + found; single++)
            remote_set(single->slab, single->class, single->word, single->bit);
    }
}

void remote_send(struct outbox *outbox) {
    unsigned count = outbox->count;
    ASSERT(P4, count <= OUTBOX_BLOCKS);
    if (outbox->alone > 0) {
        outbox->alone--;
        remote_send_singly(outbox->blocks, count);
    } else {
        remote_send_sorted(outbox, count);
    }
    outbox->posted = 0;
}
