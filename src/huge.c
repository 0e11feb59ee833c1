#include "huge_parts.h"

#include "os.h"

struct huges huges;

static struct huge_size *huge_size_of(size_t bytes) {
    unsigned doubling = bytes > HUGE_TELLS ? bits_highest(bytes / HUGE_TELLS) : 0;
    return &huges.sizes[doubling < HUGE_SIZES ? doubling : HUGE_SIZES - 1];
}

void huge_watch(const void *start, size_t bytes) {
    if (huges.asks)
        atomic_store_explicit(&huge_size_of(bytes)->watched, start, memory_order_relaxed);
}

static void huge_note(struct huge_size *size, enum pages_density density) {
    if (density != PAGES_UNTOUCHED)
        atomic_store_explicit(&size->known, density == PAGES_DENSE ? HUGE_WHOLE : HUGE_SPARSE,
                              memory_order_relaxed);
}

void huge_learn(const void *start, size_t bytes, enum pages_density density) {
    struct huge_size *size = huge_size_of(bytes);
    const void *watched = start;
    huge_note(size, density);
    atomic_compare_exchange_strong_explicit(&size->watched, &watched, NULL, memory_order_relaxed,
                                            memory_order_relaxed);
}

static enum pages_density huge_density(const void *start, size_t bytes) {
    enum pages_density density = PAGES_UNTOUCHED;
    if (huges.asks)
        pages_resident(start, bytes, &density);
    return density;
}

bool huge_look(const void *start, size_t bytes) {
    enum pages_density density = bytes >= HUGE_TELLS ? huge_density(start, bytes) : PAGES_UNTOUCHED;
    huge_note(huge_size_of(bytes), density);
    return density == PAGES_DENSE;
}

/* What the last block with small pages, or a head of them, shows by now: of the shortest ones that a huge page fits into a half, as what doubles by turns
 * with others has no more when the next one is made. It may be gone: then the kernel does not say, or tells of another block. */
static enum pages_density huge_watched(const struct huge_size *size) {
    const void *watched = atomic_load_explicit(&size->watched, memory_order_relaxed);
    size_t bytes = huge_is_head(watched) ? HUGE_HEAD : size <= huges.sizes + 1 ? HUGE_TELLS : HUGE_LEAST;
    return watched ? huge_density(watched, bytes) : PAGES_UNTOUCHED;
}

static enum huge_known huge_known_of(const struct huge_size *size) {
    return atomic_load_explicit(&size->known, memory_order_relaxed);
}

static bool huge_is_whole(struct huge_size *size) {
    if (huge_known_of(size) != HUGE_WHOLE && huge_watched(size) == PAGES_DENSE) {
        huge_note(size, PAGES_DENSE);
        atomic_store_explicit(&size->watched, NULL, memory_order_relaxed);
    }
    return huge_known_of(size) == HUGE_WHOLE;
}

enum huge_known huge_known(size_t bytes) {
    return huge_known_of(huge_size_of(bytes));
}

bool huge_fills(size_t bytes) {
    return huges.asks && huge_known(bytes) == HUGE_WHOLE;
}

bool huge_is_unknown(size_t bytes) {
    return huges.asks && huge_known(bytes) == HUGE_UNKNOWN;
}

bool huge_suits(size_t bytes) {
    return huge_is_whole(huge_size_of(bytes));
}

void huge_leave(const void *start, size_t bytes) {
    struct huge_size *size = huge_size_of(bytes);
    const void *watched = atomic_load_explicit(&size->watched, memory_order_relaxed);
    if ((uintptr_t)watched - (uintptr_t)start < bytes)
        huge_learn(watched, bytes, huge_watched(size));
}

bool huge_follows(size_t bytes) {
    struct huge_size *size = huge_size_of(bytes);
    if (!huges.asks || bytes < 2 * HUGE_LEAST || huge_known_of(size) != HUGE_UNKNOWN ||
        atomic_load_explicit(&size->watched, memory_order_relaxed))
        return false;
    return huge_is_whole(size - 1) && !limit_near() && limit_may_split();
}

bool huge_wants(size_t bytes) {
    struct huge_size *size = huge_size_of(bytes);
    if (!huges.asks || bytes < HUGE_TELLS || !huge_is_whole(size) || limit_near() || !limit_may_split())
        return false;
    uint32_t before = atomic_fetch_add_explicit(&size->wanted, 1, memory_order_relaxed);
    bool probe = before % HUGE_PROBE == HUGE_PROBE - 1;
    if (probe)
        huge_note(size, huge_watched(size));
    return !probe;
}

bool huge_probe_is_due(size_t bytes) {
    uint32_t wanted = atomic_load_explicit(&huge_size_of(bytes)->wanted, memory_order_relaxed);
    return wanted % HUGE_PROBE == HUGE_PROBE - 1;
}

bool huge_ask(void *start, size_t bytes) {
    return limit_may_split() && os_advise(start, bytes, OS_HUGE);
}

void huge_configure(bool huge_pages) {
    huges.asks = huge_pages;
}
