#include "spare.h"

#include "dense.h"

enum { BINS = SPARE_WORDS * 64 };

static struct {
    uint64_t filled[SPARE_WORDS]; /* a bit a bin */
    struct spare_ages ages;
    size_t resident, mappings, runs; /* bytes */
    size_t rested;                   /* the least that waited since somebody asked */
} spares;

/* Apart, because they start as zeros: they take no room in the file and no page until they are used. */
SPARSE static struct large *spare_bins[BINS];

void spare_age_add(struct spare_ages *ages, struct large *large) {
    large->newer = NULL;
    large->older = ages->newest;
    if (ages->newest)
        ages->newest->newer = large;
    else
        ages->oldest = large;
    ages->newest = large;
}

void spare_age_remove(struct spare_ages *ages, struct large *large) {
    if (large->newer)
        large->newer->older = large->older;
    else
        ages->newest = large->older;
    if (large->older)
        large->older->newer = large->newer;
    else
        ages->oldest = large->newer;
}

/* Sums are written under the lock, some are read without. */
static void spare_count(const struct large *large, bool waits) {
    size_t *total = large->home ? &spares.runs : &spares.mappings;
    size_t resident = spares.resident + (waits ? large->resident : -large->resident);
    __atomic_store_n(&spares.resident, resident, __ATOMIC_RELAXED);
    __atomic_store_n(total, *total + (waits ? large->extent : -large->extent), __ATOMIC_RELAXED);
    if (spares.mappings + spares.runs < spares.rested)
        spares.rested = spares.mappings + spares.runs;
    size_t units = large->extent >> UNIT_SHIFT;
    if (large->home) {
        superslab_count_waiting(waits ? units : -units);
        dense_count(dense_kind_of_run(units), waits ? -units : units);
    }
}

void spare_put(struct large *large) {
    unsigned bin = spare_bin(large->extent);
    large->before = NULL;
    large->next = spare_bins[bin];
    if (large->next)
        large->next->before = large;
    spare_bins[bin] = large;
    spares.filled[bin / 64] |= 1ULL << bin % 64;
    spare_age_add(&spares.ages, large);
    spare_count(large, true);
}

void spare_remove(struct large *large) {
    unsigned bin = spare_bin(large->extent);
    if (large->next)
        large->next->before = large->before;
    if (large->before)
        large->before->next = large->next;
    else
        spare_bins[bin] = large->next;
    if (!spare_bins[bin])
        spares.filled[bin / 64] &= ~(1ULL << bin % 64);
    spare_age_remove(&spares.ages, large);
    spare_count(large, false);
}

/* The first filled bin from `bin` to `last`, BINS if there is none. */
static unsigned spare_next_bin(unsigned bin, unsigned last) {
    if (bin > last)
        return BINS;
    unsigned word = bin / 64;
    uint64_t bits = spares.filled[word] & ~0ULL << bin % 64;
    while (!bits && ++word <= last / 64)
        bits = spares.filled[word];
    unsigned next = bits ? word * 64 + bits_lowest(bits) : BINS;
    return next <= last ? next : BINS;
}

static bool spare_is_of(const struct large *large, enum spare_kind kind) {
    return kind == SPARE_ANY || (!large->home && (kind == SPARE_MAPPING || !large->solid));
}

static struct large *spare_look(unsigned bin, size_t alignment, enum spare_kind kind) {
    struct large *large = spare_bins[bin];
    for (unsigned looks = 0; large && looks < SPARE_LOOKS; looks++, large = large->next)
        if (((uintptr_t)large->start & (alignment - 1)) == 0 && spare_is_of(large, kind))
            return large;
    return NULL;
}

struct large *spare_find(size_t bytes, size_t most, size_t alignment, enum spare_kind kind) {
    unsigned longest = spare_bin(most), last = longest < BINS ? longest : BINS - 1;
    struct large *large = NULL;
    for (unsigned bin = spare_next_bin(spare_bin(bytes), last); !large && bin < BINS;
         bin = spare_next_bin(bin + 1, last))
        large = spare_look(bin, alignment, kind);
    ASSERT(P1, !large || large->extent >= bytes);
    return large;
}

struct large *spare_take(size_t bytes, size_t most, size_t alignment, enum spare_kind kind) {
    struct large *large = spare_find(bytes, most, alignment, kind);
    if (large)
        spare_remove(large);
    return large;
}

/* The last filled bin below `bin`, BINS if there is none. */
static unsigned spare_previous_bin(unsigned bin) {
    unsigned word = bin / 64;
    uint64_t bits = word < SPARE_WORDS ? spares.filled[word] & ((1ULL << bin % 64) - 1) : 0;
    while (!bits && word-- > 0)
        bits = spares.filled[word];
    return bits ? word * 64 + bits_highest(bits) : BINS;
}

struct large *spare_take_shorter(size_t bytes, size_t least) {
    for (unsigned bin = spare_previous_bin(spare_bin(bytes)); bin != BINS && bin >= spare_bin(least);
         bin = spare_previous_bin(bin)) {
        struct large *large = spare_look(bin, UNIT_SIZE, SPARE_TORN);
        if (!large)
            continue;
        spare_remove(large);
        return large;
    }
    return NULL;
}

struct large *spare_oldest(void) {
    return spares.ages.oldest;
}

size_t spare_rested_bytes(void) {
    size_t bytes = spares.rested;
    spares.rested = spares.mappings + spares.runs;
    return bytes;
}

size_t spare_resident_bytes(void) {
    return __atomic_load_n(&spares.resident, __ATOMIC_RELAXED);
}

size_t spare_mapping_bytes(void) {
    return __atomic_load_n(&spares.mappings, __ATOMIC_RELAXED);
}

size_t spare_run_bytes(void) {
    return __atomic_load_n(&spares.runs, __ATOMIC_RELAXED);
}

size_t spare_waiting_bytes(void) {
    return spare_mapping_bytes() + spare_run_bytes();
}
