#include "slab.h"

#include "lock.h"
#include "metadata.h"

/* Unused records, by how many lines of 64 bytes they have. */
enum { RECORD_LINES = (int)(sizeof(struct slab) + 2 * 64 * sizeof(uint64_t)) / 64 + 1 };

static struct {
    struct lock lock;
    struct slab *unused[RECORD_LINES];
} slabs = {.lock = LOCK_INITIAL(6)};

static unsigned slab_record_lines(unsigned class) {
    size_t bytes = sizeof(struct slab) + 2 * sizeclass_table[class].words * sizeof(uint64_t);
    return (unsigned)(align_up(bytes, CACHE_LINE) / CACHE_LINE);
}

static struct slab *slab_take_record(unsigned class) {
    unsigned lines = slab_record_lines(class);
    lock_take(&slabs.lock);
    struct slab *slab = slabs.unused[lines];
    if (slab)
        slabs.unused[lines] = slab->next;
    lock_release(&slabs.lock);
    return slab ? slab : metadata_new(lines * CACHE_LINE);
}

static void slab_give_record(struct slab *slab) {
    unsigned lines = slab_record_lines(slab->class);
    lock_take(&slabs.lock);
    slab->next = slabs.unused[lines];
    slabs.unused[lines] = slab;
    lock_release(&slabs.lock);
}

struct slab *slab_new(unsigned class, struct inbox *owner, uint32_t tag) {
    const struct sizeclass *geometry = &sizeclass_table[class];
    struct slab *slab = slab_take_record(class);
    if (!slab)
        return NULL;
    slab->class = (uint8_t) class;
    struct superslab_run run = superslab_take(geometry->units);
    if (!run.start) {
        slab_give_record(slab);
        return NULL;
    }
    slab->start = run.start;
    slab->home = run.home;
    slab->next = slab->previous = NULL;
    slab->summary = 0;
    slab->inverse = geometry->inverse;
    slab->blocks = geometry->blocks;
    slab->words = geometry->words;
    slab->free = slab->carved = 0;
    for (unsigned word = 0; word < 2u * geometry->words; word++)
        slab->bits[word] = 0;
    __atomic_store_n(&slab->remote_summary, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&slab->owner, owner, __ATOMIC_RELAXED); /* published by the tag below */
    pagemap_set(slab->start, geometry->units, tag, slab);
    return slab;
}

void slab_delete(struct slab *slab) {
    unsigned units = sizeclass_table[slab->class].units;
    ASSERT(P1, slab_is_empty(slab));
    pagemap_set(slab->start, units, PAGEMAP_NONE, NULL);
    superslab_give(slab->home, slab->start, units);
    slab_give_record(slab);
}

void slab_change_owner(struct slab *slab, struct inbox *owner, uint32_t tag) {
    __atomic_store_n(&slab->owner, owner, __ATOMIC_RELEASE); /* pairs with remote_push's acquire */
    pagemap_set(slab->start, sizeclass_table[slab->class].units, tag, slab);
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
        void **place = end - have;
#pragma GCC unroll 4
        for (; end > place; block += size)
            *--end = block;
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
    if (fresh && have < count) {
        size_t size = sizeclass_table[slab->class].size;
        unsigned left = slab_fresh(slab), more = left < count - have ? left : count - have;
        unsigned char *block = slab->start + slab->carved * size;
        slab->carved = (uint16_t)(slab->carved + more);
        for (unsigned i = 0; i < more; i++, block += size)
            end[-1 - (ptrdiff_t)(have + i)] = block;
        have += more;
    }
    return have;
}

/* The blocks of word `word` that were ever handed out. */
static uint64_t slab_handed_out(const struct slab *slab, unsigned word) {
    unsigned below = slab->carved > word * 64 ? slab->carved - word * 64 : 0;
    return below >= 64 ? ~0ULL : (1ULL << below) - 1;
}

uint64_t slab_push_word(struct slab *slab, unsigned word, uint64_t bits) {
    uint64_t good = bits & slab_handed_out(slab, word) & ~slab->bits[word];
    __atomic_store_n(&slab->bits[word], slab->bits[word] | good, __ATOMIC_RELAXED);
    if (good)
        slab->summary |= 1ULL << word;
    slab->free = (uint16_t)(slab->free + bits_count(good));
    ASSERT(P1, slab->free <= slab->carved);
    return bits & ~good;
}

COLD enum slab_verdict slab_why_not(const struct slab *slab, const void *block) {
    uint32_t number = slab_block_number(slab, block);
    return number < slab->carved ? SLAB_DOUBLE_FREE
                                 : SLAB_INSIDE; /* what was never handed out is inside, P4 */
}

enum slab_verdict slab_push(struct slab *slab, const void *block) {
    void *blocks[1] = {(void *)(uintptr_t)block};
    enum slab_verdict verdict;
    unsigned done = slab_push_run(slab, blocks, 1, &verdict);
    return done == 0 && verdict == SLAB_OK ? SLAB_INSIDE : verdict; /* not in this slab at all */
}

void slab_lock(bool take) {
    if (take)
        lock_take(&slabs.lock);
    else
        lock_release(&slabs.lock);
}
