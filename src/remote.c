#include "remote.h"

#include <string.h>

enum {
    PARCELS = 128,        /* words of bits that a sender keeps open */
    PLACES = 4 * PARCELS, /* of the table that finds them */
    PLACES_LOG2 = 9,
    IN_ORDER = 3,                /* blocks a word, at least, of what came in order */
    TOLD_BY = OUTBOX_BLOCKS / 4, /* blocks in a send, at least */
    TRIED_EACH = 16              /* sends */
};

static void remote_deliver_class(struct slab *slab, unsigned class) {
    struct inbox *inbox = __atomic_load_n(&slab->owner, __ATOMIC_ACQUIRE); /* pairs with slab_change_owner */
    struct slab **place = &inbox->head[class], *head = __atomic_load_n(place, __ATOMIC_RELAXED);
    do
        __atomic_store_n(&slab->inbox_next, head, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(place, &head, slab, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    /* The release above publishes inbox_next; pairs with remote_take. The slab is not ours from here on. */
    if (head == NULL) /* after the push; pairs with remote_class */
        __atomic_fetch_or(&inbox->waiting[class / 64], 1ULL << class % 64, __ATOMIC_RELEASE);
}

void remote_deliver(struct slab *slab) {
    remote_deliver_class(slab, slab->class);
}

/* Sets bits of one word for the owner to collect. Returns those of them that were set already. Touches no line that the
 * owner writes, until it collects. */
static uint64_t remote_set_bits(struct slab *slab, unsigned class, unsigned word, uint64_t bits) {
    /* Release: what was written to the blocks comes before their reuse; pairs with remote_collect. */
    uint64_t old = __atomic_fetch_or(slab_remote_word(slab, class, word), bits, __ATOMIC_ACQ_REL);
    /* Release: the bits are set before the summary says so; pairs with remote_collect's exchange. */
    if (old == 0 && __atomic_fetch_or(&slab->remote_summary, 1ULL << word, __ATOMIC_ACQ_REL) == 0)
        remote_deliver_class(slab, class);
    return old & bits;
}

enum slab_verdict remote_free(struct slab *slab, const void *block) {
    uint32_t number = slab_block_number(slab, block);
    if (UNLIKELY(number == SLAB_NO_BLOCK || !slab_was_carved(slab, number)))
        return SLAB_INSIDE;
    /* A live block's own bit is 0 from before it was handed out: seeing 1 is proof, not a race. */
    uint64_t bit = 1ULL << number % 64, own = __atomic_load_n(&slab->bits[number / 64], __ATOMIC_RELAXED);
    if (UNLIKELY(own & bit))
        return SLAB_DOUBLE_FREE;
    return remote_set_bits(slab, slab->class, number / 64, bit) ? SLAB_DOUBLE_FREE : SLAB_OK;
}

/* Of a summary: the slab is back from a visitor. No word stands behind it: who has set the first bit of a word but not yet marked that
 * will still touch the record, and so nobody else may have the word collected. */
#define REMOTE_BACK (1ULL << 63)

void remote_return(struct slab *slab) {
    /* Release, as all here: what was done with its pages comes before anybody has blocks of them; pairs with remote_is_lent. Said
     * before the slab is delivered: the owner looks when it collects, and not again. */
    __atomic_store_n(&slab->lent, SLAB_RETURNED, __ATOMIC_RELEASE);
    if (__atomic_fetch_or(&slab->remote_summary, REMOTE_BACK, __ATOMIC_ACQ_REL) == 0)
        remote_deliver(slab);
    /* Last: from here on the slab may be deleted; pairs with remote_is_on_its_way. */
    __atomic_store_n(&slab->lent, SLAB_HELD, __ATOMIC_RELEASE);
}

bool remote_is_lent(const struct slab *slab) {
    return __atomic_load_n(&slab->lent, __ATOMIC_ACQUIRE) == SLAB_LENT; /* pairs with remote_return */
}

/* ---- what is sent together ---- */

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

static void remote_send_parcels(struct parcels *parcels) {
    for (struct parcel *parcel = parcels->parcel, *end = parcel + parcels->count; parcel < end; parcel++) {
        unsigned word = parcel_word(parcel);
        uint64_t refused = remote_set_bits(parcel->slab, parcel_class(parcel), word, parcel->bits);
        if (UNLIKELY(refused))
            slab_report_refused(parcel->slab, word, refused);
    }
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

void remote_send(struct outbox *outbox) {
    struct parcels parcels;
    unsigned count = outbox->count;
    bool scattered = outbox->scattered > 0;
    ASSERT(P4, count <= OUTBOX_BLOCKS);
    parcels.sent = 0;
    if (scattered)
        remote_pack_all(&parcels, outbox->blocks, count, true);
    else
        remote_pack_all(&parcels, outbox->blocks, count, false);
    outbox->posted = 0;
    remote_send_parcels(&parcels);
    if (scattered)
        outbox->scattered--;
    else if (count >= TOLD_BY && parcels.sent * IN_ORDER > count)
        outbox->scattered = TRIED_EACH - 1;
}

struct slab *remote_take(struct inbox *inbox, unsigned class) {
    struct slab **place = &inbox->head[class], *slab = inbox->taken[class];
    if (!slab && __atomic_load_n(place, __ATOMIC_RELAXED))
        slab = __atomic_exchange_n(place, NULL, __ATOMIC_ACQUIRE); /* pairs with remote_deliver */
    if (slab)
        inbox->taken[class] = __atomic_load_n(&slab->inbox_next, __ATOMIC_RELAXED);
    return slab;
}

bool remote_waits(const struct inbox *inbox) {
    uint64_t waiting = 0;
    for (unsigned i = 0; i < ARRAY_LENGTH(inbox->waiting); i++)
        waiting |= __atomic_load_n(&inbox->waiting[i], __ATOMIC_RELAXED);
    return waiting != 0;
}

unsigned remote_class(struct inbox *inbox) {
    for (unsigned i = 0; i < ARRAY_LENGTH(inbox->waiting); i++) {
        if (inbox->asked[i] == 0 && __atomic_load_n(&inbox->waiting[i], __ATOMIC_RELAXED))
            inbox->asked[i] =
                __atomic_exchange_n(&inbox->waiting[i], 0, __ATOMIC_ACQUIRE); /* pairs with remote_deliver */
        if (inbox->asked[i])
            return i * 64 + bits_lowest(inbox->asked[i]);
    }
    return SIZECLASS_COUNT;
}

void remote_class_done(struct inbox *inbox, unsigned class) {
    inbox->asked[class / 64] &= ~(1ULL << class % 64);
}

unsigned remote_collect(struct slab *slab) {
    /* The summary first: a bit that comes after it finds its word 0 or taken with the others, and in the
     * first case marks the summary and delivers the slab anew. Pairs with remote_set_bits. */
    uint64_t summary = __atomic_exchange_n(&slab->remote_summary, 0, __ATOMIC_ACQ_REL);
    ASSERT(P1, summary != 0);
    unsigned words = bits_count(summary);
    for (summary &= ~REMOTE_BACK; summary; summary &= summary - 1) {
        unsigned word = bits_lowest(summary);
        uint64_t bits = __atomic_exchange_n(slab_remote_word(slab, slab->class, word), 0, __ATOMIC_ACQ_REL);
        uint64_t refused = slab_push_word(slab, word, bits);
        if (UNLIKELY(refused))
            slab_report_refused(slab, word, refused);
    }
    return words;
}

bool remote_is_on_its_way(const struct slab *slab) {
    return __atomic_load_n(&slab->lent, __ATOMIC_ACQUIRE) != SLAB_HELD ||
           __atomic_load_n(&slab->remote_summary, __ATOMIC_ACQUIRE) != 0;
}

bool remote_is_waiting(const struct slab *slab, uint32_t number) {
    uint64_t *word = slab_remote_word((struct slab *)slab, slab->class, number / 64);
    uint64_t bits = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    return bits >> number % 64 & 1;
}

bool remote_is_freed(const struct slab *slab, uint32_t number) {
    uint64_t bits = __atomic_load_n(&slab->bits[number / 64], __ATOMIC_RELAXED); /* as in remote_free */
    return (bits >> number % 64 & 1) || remote_is_waiting(slab, number);
}
