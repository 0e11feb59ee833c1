#include "slab_parts.h"

#include "metadata.h"
#include "misuse.h"
#include "os.h"

#include <string.h>

struct slabs slabs = {.lock = LOCK_INITIAL(6)};

static struct slab *slab_take_record(unsigned class) {
    unsigned lines = slab_record_lines(class);
    lock_take(&slabs.lock);
    struct slab *slab = slab_pop_record(lines);
    lock_release(&slabs.lock);
    slab = slab ? slab : metadata_new(lines * CACHE_LINE);
    if (slab)
        slab->class = (uint8_t) class;
    return slab;
}

static NOINLINE void slab_give_record(struct slab *slab) {
    lock_take(&slabs.lock);
    slab_push_record(slab);
    lock_release(&slabs.lock);
}

/* Longer blocks get huge pages in large heaps, once they are known to be written whole. */
static bool slab_is_whole(enum dense_kind kind) {
    return superslab_seems_large() && dense_known(kind) == DENSE_YES;
}

/* In a large heap, of blocks that are longer than those that surely have all of their pages touched. */
static COLD enum superslab_use slab_use_of_longer(enum dense_kind kind, bool fills) {
    static uint32_t whole;
    if (!slab_is_whole(kind))
        return dense_is_sparse(kind) ? SUPERSLAB_SPARSE : SUPERSLAB_MIXED;
    return fills && !dense_probe_is_due(&whole) ? SUPERSLAB_FILLS : SUPERSLAB_SPARSE;
}

/* `fills`: all of its blocks will be handed out. */
static enum superslab_use slab_use(unsigned class, bool fills) {
    enum dense_kind kind = slab_dense_kind(class);
    if (LIKELY(kind == DENSE_SURELY))
        return fills ? SUPERSLAB_FILLS : SUPERSLAB_SPARSE;
    return superslab_seems_large() ? slab_use_of_longer(kind, fills) : SUPERSLAB_MIXED;
}

/* A record with a run of `units`, or of fewer. NULL: no memory. */
static struct slab *slab_take_new(struct slab_hand **hand, unsigned class, unsigned units, bool fills) {
    unsigned least = slab_units_least(class);
    struct slab *slab = slab_take_record(class);
    if (!slab)
        return NULL;
    enum superslab_use use = slab_use(class, fills);
    struct superslab_run run = superslab_take_some(least, units, use);
    if (UNLIKELY(!run.start) && *hand)
        run = slab_hand_yield(*hand, least, units, use);
    if (!run.start) {
        slab_give_record(slab);
        return NULL;
    }
    slab_stand(slab, &run);
    if (UNLIKELY(*hand || run.waited))
        slab_hand_follow(hand, class, &run, use);
    return slab;
}

struct slab *slab_new(struct slab_hand **hand, unsigned class, unsigned units, bool fills,
                      struct inbox *owner, uint32_t tag) {
    const struct sizeclass *geometry = &sizeclass_table[class];
    struct slab *slab = UNLIKELY(*hand != NULL) ? slab_hand_take(*hand, class, units) : NULL;
    if (!slab)
        slab = slab_take_new(hand, class, units, fills);
    if (!slab)
        return NULL;
    slab->class = (uint8_t) class;
    slab->next = slab->previous = NULL;
    slab->summary = 0;
    slab->inverse = geometry->inverse;
    uintptr_t unit = (uintptr_t)slab->start >> UNIT_SHIFT;
    slab->start = slab_unit(slab) + sizeclass_colour(geometry, unit);
    slab->blocks = (uint16_t)sizeclass_blocks(geometry, slab->units, unit);
    slab->words = geometry->words;
    slab->free = 0;
    slab_carve_to(slab, 0);
    slab->lent = SLAB_HELD;
    memset(slab->remote, 0, sizeof slab->remote);
    memset(slab->bits, 0, slab_record_lines(class) * (size_t)CACHE_LINE - sizeof(struct slab));
    __atomic_store_n(&slab->remote_summary, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&slab->owner, owner, __ATOMIC_RELAXED); /* published by the tag below */
    pagemap_set(slab->start, slab->units, tag, slab);
    return slab;
}

static NOINLINE void slab_note_full(const struct slab *slab) {
    enum dense_kind kind = slab_dense_kind(slab->class);
    dense_count(kind, slab->units);
    if (kind != DENSE_SURELY && slab->untouched && !slab->home->huge)
        dense_watch(kind, slab_unit(slab), 1, slab_is_whole(kind));
}

void slab_delete(struct slab_hand **hand, struct slab *slab) {
    ASSERT(P1, slab_is_empty(slab));
    if (slab_is_full(slab))
        dense_count(slab_dense_kind(slab->class), -(size_t)slab->units);
    pagemap_set(slab->start, slab->units, PAGEMAP_NONE, NULL);
    if (UNLIKELY(*hand != NULL) && slab_hand_put(hand, slab))
        return;
    bool waited = superslab_give_run(slab->home, slab_unit(slab), slab->units, slab_fills(slab));
    slab_give_record(slab);
    if (UNLIKELY(*hand || waited))
        slab_hand_learn(hand, waited);
}

void slab_change_owner(struct slab *slab, struct inbox *owner, uint32_t tag) {
    __atomic_store_n(&slab->owner, owner, __ATOMIC_RELEASE); /* pairs with remote_deliver's acquire */
    pagemap_set(slab->start, slab->units, tag, slab);
}

/* Writes the addresses of `count` neighbours downwards from `end`, two with each store. */
static ALWAYS_INLINE void slab_lay_down(unsigned char *block, size_t size, void **end, unsigned count) {
    uintptr_t first = (uintptr_t)block;
    slab_two two = {first + size, first};
    for (; count >= 8; count -= 8, end -= 8) {
#pragma GCC unroll 4
        for (unsigned i = 2; i <= 8; i += 2, two += 2 * size)
            *(slab_two *)(end - i) = two;
    }
    for (; count >= 2; count -= 2, two += 2 * size)
        *(slab_two *)(end -= 2) = two;
    if (count > 0)
        *--end = (void *)two[1];
}

/* Takes up to `count` free blocks of one word. A word whose free blocks are neighbours, as bursts leave it, needs no
 * search for each. */
static unsigned slab_pop_word(struct slab *slab, unsigned word, void **end, unsigned count) {
    size_t size = sizeclass_table[slab->class].size;
    uint64_t bits = slab->bits[word], lowest_bit = bits & -bits;
    unsigned lowest = bits_lowest(bits), have = 0;
    unsigned char *base = slab->start + (size_t)word * 64 * size;
    if ((bits & (bits + lowest_bit)) == 0) {
        unsigned run = bits_highest(bits) + 1 - lowest;
        have = run < count ? run : count;
        unsigned char *block = base + lowest * size;
        slab_lay_down(block, size, end, have);
        bits = have < run ? bits & ~(((1ULL << have) - 1) << lowest) : 0;
    } else {
        for (; bits && have < count; bits &= bits - 1, have++)
            *--end = base + bits_lowest(bits) * size;
    }
    __atomic_store_n(&slab->bits[word], bits, __ATOMIC_RELAXED); /* read by remote's check for misuse */
    if (bits == 0)
        slab->summary &= ~(1ULL << word);
    return have;
}

unsigned slab_pop(struct slab *slab, void **end, unsigned count, bool fresh) {
    unsigned have = 0;
    while (have < count && slab->summary)
        have += slab_pop_word(slab, bits_lowest(slab->summary), end - have, count - have);
    slab->free = (uint16_t)(slab->free - have);
    slab->changes++;
    if (fresh && have < count) {
        size_t size = sizeclass_table[slab->class].size;
        unsigned left = slab_fresh(slab), more = left < count - have ? left : count - have;
        unsigned char *block = slab->start + slab->carved * size;
        slab_carve_to(slab, slab->carved + more);
        slab_lay_down(block, size, end - have, more);
        have += more;
        if (more > 0 && slab_is_full(slab))
            slab_note_full(slab);
    }
    return have;
}

unsigned slab_pop_apart(struct slab *slab, void **end, unsigned count) {
    size_t size = sizeclass_table[slab->class].size;
    unsigned step = (unsigned)((SLAB_APART - 1) / size) + 1;
    if (step == 1 || count == 1)
        return slab_pop(slab, end, count, true);
    ASSERT(P1, slab->carved == 0 && slab->blocks >= SLAB_FIRST);
    unsigned most = step < SLAB_FIRST / 8 ? 8 : SLAB_FIRST / step;
    unsigned have = count < most ? count : most, carved = have * step;
    uint64_t all = ~0ULL >> (64 - carved), every = all / ((1ULL << step) - 1);
    for (unsigned i = 0; i < have; i++)
        *--end = slab->start + i * step * size;
    __atomic_store_n(&slab->bits[0], all & ~every, __ATOMIC_RELAXED); /* read by remote's check for misuse */
    slab->summary = 1;
    slab_carve_to(slab, carved);
    slab_count_free(slab, carved - have);
    return have;
}

/* The blocks of word `word` that were ever carved. */
static uint64_t slab_carved_bits(const struct slab *slab, unsigned word) {
    return slab->carved > word * 64 ? slab_span(word * 64, slab->carved) : 0;
}

uint64_t slab_push_word(struct slab *slab, unsigned word, uint64_t bits) {
    uint64_t good = bits & slab_carved_bits(slab, word) & ~slab->bits[word];
    slab_set_word(slab, word, good);
    slab->free = (uint16_t)(slab->free + bits_count(good));
    ASSERT(P1, slab->free <= slab->carved);
    return bits & ~good;
}

COLD void slab_report_refused(const struct slab *slab, unsigned word, uint64_t refused) {
    size_t number = word * 64 + bits_lowest(refused);
    misuse_report(MISUSE_DOUBLE_FREE, slab->start + number * sizeclass_table[slab->class].size);
}

COLD enum slab_verdict slab_why_not(const struct slab *slab, const void *block) {
    uint32_t number = slab_block_number(slab, block);
    return number < slab->carved ? SLAB_DOUBLE_FREE : SLAB_INSIDE; /* what was never carved is inside, P4 */
}

enum slab_verdict slab_push(struct slab *slab, const void *block) {
    return slab_push_one(slab, block) ? SLAB_OK : slab_why_not(slab, block);
}

/* ---- pages inside ---- */

/* The first block from `from` on whose bit is `set`; slab->blocks if there is none. */
static unsigned slab_next(const struct slab *slab, unsigned from, bool set) {
    for (unsigned word = from / 64; word < slab->words; word++) {
        uint64_t bits = set ? slab->bits[word] : ~slab->bits[word];
        if (word == from / 64)
            bits &= ~0ULL << from % 64;
        if (bits)
            return word * 64 + bits_lowest(bits);
    }
    return slab->blocks;
}

bool slab_find_pages(struct slab *slab, unsigned *from, size_t page, struct slab_pages *pages) {
    size_t size = sizeclass_table[slab->class].size;
    for (unsigned first; (first = slab_next(slab, *from, true)) < slab->blocks;) {
        *from = slab_next(slab, first, false);
        /* What lies before the first block is nobody's. */
        unsigned char *low = first == 0 ? slab_unit(slab) : slab->start + first * size;
        uintptr_t start = align_up((uintptr_t)low, page),
                  end = align_down((uintptr_t)slab->start + *from * size, page);
        if (start < end) {
            *pages = (struct slab_pages){slab, (unsigned char *)start, end - start};
            return true;
        }
    }
    return false;
}

void slab_lock(bool take) {
    if (take)
        lock_take(&slabs.lock);
    else
        lock_release(&slabs.lock);
}
