/* Huge pages: areas of superslabs that have them, lose them, or get them later. */
#include "superslab_parts.h"

#include "os.h"
#include "pages.h"

#define PACKED_LEAST \
    (AREA_SIZE / 32 * 31) /* bytes of an area that have to be in memory to make it a huge page */

enum {
    SPLIT_LEAST = 8,    /* units of a huge page for which it is split: a quarter */
    LOOKED_FOR_EACH = 4 /* areas that are asked whether they are in memory, for each that may be packed */
};

/* True when a part of the area at `at` lies in the range. */
static bool superslab_touches(const unsigned char *at, const unsigned char *start, size_t bytes) {
    return start < at + AREA_SIZE && at < start + bytes;
}

/* A bit each. Relaxed, as what superslab_calm adds to it without the lock orders nothing. */
static unsigned superslab_calm_areas(const struct superslab *home) {
    return __atomic_load_n(&home->calm, __ATOMIC_RELAXED);
}

static bool superslab_is_calm(const struct superslab *home, unsigned area) {
    return superslab_calm_areas(home) >> area & 1;
}

/* As far as is known: the kernel may have had no huge page. */
static bool superslab_is_huge(const struct superslab *home, unsigned area) {
    return home->huge ? !superslab_is_calm(home, area)
                      : __atomic_load_n(&home->packed, __ATOMIC_RELAXED) >> area & 1;
}

uint64_t superslab_stays(const struct superslab *home, uint64_t rested) {
    uint64_t stays = 0;
    for (unsigned area = 0; area < home->units / AREA_UNITS; area++) {
        uint64_t there = rested & superslab_mask(area * AREA_UNITS, AREA_UNITS);
        if (bits_count(there) < SPLIT_LEAST && superslab_is_huge(home, area))
            stays |= there;
    }
    return stays;
}

uint64_t superslab_unused(const struct superslab *home) {
    uint64_t unused = 0, clean = home->free & ~(home->dirty | home->stale),
             present = clean & ~home->absent & superslab_begun(home);
    for (unsigned area = 0; home->huge && area < home->units / AREA_UNITS; area++) {
        uint64_t there = present & superslab_mask(area * AREA_UNITS, AREA_UNITS);
        if (bits_count(there) >= SPLIT_LEAST || superslab_is_calm(home, area))
            unused |= there;
    }
    return unused;
}

bool superslab_comes_huge(const struct superslab *home, const void *start) {
    return superslab_is_huge(home, superslab_unit_of(home, start) / AREA_UNITS);
}

bool superslab_lets_go(const struct superslab *home, const void *start, size_t bytes, size_t free) {
    return free >= bytes / 2 || !superslab_comes_huge(home, start);
}

/* Where huge pages were asked for the kernel makes one by and by of an area that has a single page in memory (khugepaged,
 * max_ptes_none): what went home of it would come back. So it is to make no more where only a part goes home. Relaxed: two threads
 * may both say so. docs/experiments/huge-pages.md */
static void superslab_calm(struct superslab *home, const unsigned char *start, size_t bytes) {
    for (unsigned area = 0; area < home->units / AREA_UNITS; area++) {
        unsigned char *at = home->start + area * AREA_SIZE;
        bool whole = start <= at && at + AREA_SIZE <= start + bytes;
        if (!superslab_touches(at, start, bytes) || whole || superslab_is_calm(home, area))
            continue;
        limit_count_mappings();
        if (limit_may_split() && os_advise(at, AREA_SIZE, OS_SMALL))
            __atomic_fetch_or(&home->calm, (uint8_t)(1u << area), __ATOMIC_RELAXED);
    }
}

/* Units of the mask are still nobody's, so that the superslab stays. */
void superslab_rouse(struct superslab *home, uint64_t mask) {
    if (LIKELY(superslab_calm_areas(home) == 0))
        return;
    for (unsigned area = 0; area < home->units / AREA_UNITS; area++) {
        uint64_t all = superslab_mask(area * AREA_UNITS, AREA_UNITS),
                 clean = home->free & ~home->dirty & ~home->stale;
        if (!superslab_is_calm(home, area) || ((clean | mask) & all) != all)
            continue;
        lock_release(&superslabs.lock);
        os_advise(home->start + area * AREA_SIZE, AREA_SIZE, OS_HUGE);
        lock_take(&superslabs.lock);
        __atomic_fetch_and(&home->calm, (uint8_t) ~(1u << area), __ATOMIC_RELAXED);
    }
}

/* What was made huge of it comes in small pages again. */
static void superslab_unpack(struct superslab *home, const unsigned char *start, size_t bytes) {
    for (unsigned area = 0; area < home->units / AREA_UNITS; area++)
        if (superslab_touches(home->start + area * AREA_SIZE, start, bytes))
            __atomic_fetch_and(&home->packed, (uint8_t) ~(1u << area), __ATOMIC_RELAXED);
}

void superslab_split(struct superslab *home, const unsigned char *start, size_t bytes) {
    if (__atomic_load_n(&home->packed, __ATOMIC_RELAXED))
        superslab_unpack(home, start, bytes);
    if (home->huge)
        superslab_calm(home, start, bytes);
}

/* ---- huge pages for what came before the heap was large ---- */

/* True when nearly all of its pages are in memory: huge ones make it hardly larger. False where the system does not say, or may not be asked; and
 * where another process has them, too, after a fork, as a huge page would be a copy. */
static bool superslab_is_whole(const unsigned char *area) {
    enum pages_density density;
    return !superslabs.asks_nothing && !os_is_filtered() &&
           pages_resident(area, AREA_SIZE, &density) >= PACKED_LEAST && density == PAGES_DENSE &&
           (!__atomic_load_n(&superslabs.forks, __ATOMIC_RELAXED) || pages_are_own(area, AREA_SIZE));
}

/* Where small pages were asked for, because a part was home or the kernel makes huge ones unasked, the area has to ask for huge ones first,
 * in the second case only meanwhile. The bit of calm goes before that, so that who gives a part home now asks for small ones again. */
static void superslab_collapse(struct superslab *home, unsigned area) {
    unsigned char *start = home->start + area * AREA_SIZE;
    if (superslab_is_calm(home, area) || superslabs.keep_small) {
        __atomic_fetch_and(&home->calm, (uint8_t) ~(1u << area), __ATOMIC_RELAXED);
        if (!limit_may_split() || !os_advise(start, AREA_SIZE, OS_HUGE))
            return;
    }
    os_advise(start, AREA_SIZE, OS_COLLAPSE);
    if (superslabs.keep_small && !home->huge)
        os_advise(start, AREA_SIZE, OS_SMALL);
}

/* Under the lock, which is not held during calls. False: it is not in memory as a whole, but may be at a later look. */
static bool superslab_pack_area(struct superslab *home, unsigned area) {
    superslabs.packing = home;
    lock_release(&superslabs.lock);
    bool whole = superslab_is_whole(home->start + area * AREA_SIZE);
    if (whole) {
        __atomic_fetch_or(&home->packed, (uint8_t)(1u << area), __ATOMIC_RELAXED);
        superslab_collapse(home, area);
    }
    lock_take(&superslabs.lock);
    superslabs.packing = NULL;
    return whole;
}

/* An area of which all that is free is to stay, and was at the last look. Notes in *later when it was not then. */
static bool superslab_may_pack(struct superslab *home, unsigned area, bool *later) {
    uint8_t bit = (uint8_t)(1u << area);
    uint64_t all = superslab_mask(area * AREA_UNITS, AREA_UNITS), clean = home->free & ~home->dirty;
    bool used = (clean & all) == 0 && bits_count(home->dirty & all) < SPLIT_LEAST, rested = home->rests & bit;
    home->rests = used ? home->rests | bit : home->rests & (uint8_t)~bit;
    if (!used || superslab_is_huge(home, area))
        return false;
    *later |= !rested;
    return rested;
}

bool superslab_pack(unsigned most) {
    bool later = false;
    unsigned packed = 0, looked = 0;
    lock_take(&superslabs.lock);
    bool alone = !superslabs.packing; /* slow paths may look at the same time */
    uint32_t number = alone && superslab_wants_packs() ? superslabs.pack_from : superslabs.count;
    while (number < superslabs.count && packed < most && looked < LOOKED_FOR_EACH * most) {
        struct superslab *home = *superslab_at(number);
        bool usual = home->start && home->units == SUPERSLAB_UNITS, left = false;
        for (unsigned area = 0; usual && area < SUPERSLAB_UNITS / AREA_UNITS; area++) {
            bool ready = superslab_may_pack(home, area, &later);
            left |= ready && packed == most;
            looked += ready && !left;
            packed += ready && !left && superslab_pack_area(home, area);
        }
        number += !left;
    }
    superslabs.pack_from = number < superslabs.count ? number : 0;
    later |= number < superslabs.count;
    lock_release(&superslabs.lock);
    return later;
}
