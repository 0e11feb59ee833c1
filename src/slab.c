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

unsigned slab_pop(struct slab *slab, void **blocks, unsigned count, bool fresh) {
    size_t size = sizeclass_table[slab->class].size;
    unsigned have = 0;
    while (have < count && slab->summary) {
        unsigned word = bits_lowest(slab->summary);
        uint64_t bits = slab->bits[word];
        unsigned char *base = slab->start + (size_t)word * 64 * size;
        for (; bits && have < count; bits &= bits - 1)
            blocks[have++] = base + bits_lowest(bits) * size;
        __atomic_store_n(&slab->bits[word], bits, __ATOMIC_RELAXED); /* read by remote's check for misuse */
        if (bits == 0)
            slab->summary &= slab->summary - 1;
    }
    slab->free = (uint16_t)(slab->free - have);
    for (; fresh && have < count && slab->carved < slab->blocks; slab->carved++)
        blocks[have++] = slab->start + slab->carved * size;
    return have;
}

unsigned slab_push_run(struct slab *slab, void *const *blocks, unsigned count, enum slab_verdict *verdict) {
    const struct sizeclass *geometry = &sizeclass_table[slab->class];
    uint64_t size = geometry->size, span = (uint64_t)geometry->units << UNIT_SHIFT;
    uint64_t inverse = slab->inverse, carved = slab->carved, summary = slab->summary;
    unsigned done = 0;
    *verdict = SLAB_OK;
    for (; done < count; done++) {
        uint64_t offset = (uint64_t)((uintptr_t)blocks[done] - (uintptr_t)slab->start);
        if (offset >= span)
            break;
        uint64_t number = offset * inverse >> 32;
        if (UNLIKELY(number * size != offset || number >= carved)) {
            *verdict = SLAB_INSIDE; /* P4; what was never handed out counts as inside */
            break;
        }
        uint64_t *word = &slab->bits[number / 64], bits = *word, bit = 1ULL << number % 64;
        if (UNLIKELY(bits & bit)) {
            *verdict = SLAB_DOUBLE_FREE; /* P3 */
            break;
        }
        __atomic_store_n(word, bits | bit, __ATOMIC_RELAXED); /* read by remote's check for misuse */
        summary |= 1ULL << number / 64;
    }
    slab->summary = summary;
    slab->free = (uint16_t)(slab->free + done);
    ASSERT(P1, slab->free <= slab->carved);
    return done;
}

enum slab_verdict slab_push(struct slab *slab, const void *block) {
    void *blocks[1] = {(void *)(uintptr_t)block};
    enum slab_verdict verdict;
    unsigned done = slab_push_run(slab, blocks, 1, &verdict);
    return done == 0 && verdict == SLAB_OK ? SLAB_INSIDE : verdict; /* not in this slab at all */
}

uint64_t slab_push_word(struct slab *slab, unsigned word, uint64_t bits) {
    unsigned below = slab->carved > word * 64 ? slab->carved - word * 64 : 0;
    uint64_t handed_out = below >= 64 ? ~0ULL : (1ULL << below) - 1;
    uint64_t good = bits & handed_out & ~slab->bits[word];
    __atomic_store_n(&slab->bits[word], slab->bits[word] | good, __ATOMIC_RELAXED);
    if (good)
        slab->summary |= 1ULL << word;
    slab->free = (uint16_t)(slab->free + bits_count(good));
    ASSERT(P1, slab->free <= slab->carved);
    return bits & ~good;
}

void slab_lock(bool take) {
    if (take)
        lock_take(&slabs.lock);
    else
        lock_release(&slabs.lock);
}
