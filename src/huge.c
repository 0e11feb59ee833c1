#include "huge.h"

#include "limit.h"
#include "os.h"

static struct {
    bool asks;
    _Atomic bool whole;          /* as far as is known, the program writes such blocks whole */
    _Atomic uint32_t wanted;     /* mappings that were to get huge pages, or to be a probe */
    const void *_Atomic watched; /* the last block with small pages, NULL once it has told */
} huges;

void huge_watch(const void *start) {
    if (huges.asks)
        atomic_store_explicit(&huges.watched, start, memory_order_relaxed);
}

void huge_learn(enum pages_density density) {
    if (density != PAGES_UNTOUCHED)
        atomic_store_explicit(&huges.whole, density == PAGES_DENSE, memory_order_relaxed);
}

bool huge_look(const void *start, size_t bytes) {
    enum pages_density density = PAGES_UNTOUCHED;
    if (huges.asks && bytes >= HUGE_LEAST)
        pages_resident(start, bytes, &density);
    huge_learn(density);
    return density == PAGES_DENSE;
}

/* What is watched may be gone by now: then the kernel does not say, or tells of another block. */
static bool huge_is_known(void) {
    const void *watched = atomic_load_explicit(&huges.watched, memory_order_relaxed);
    if (watched && !atomic_load_explicit(&huges.whole, memory_order_relaxed) &&
        huge_look(watched, HUGE_LEAST))
        atomic_store_explicit(&huges.watched, NULL, memory_order_relaxed);
    return atomic_load_explicit(&huges.whole, memory_order_relaxed);
}

bool huge_wants(size_t bytes) {
    if (!huges.asks || bytes < HUGE_LEAST || !huge_is_known() || limit_near() || !limit_may_split())
        return false;
    return atomic_fetch_add_explicit(&huges.wanted, 1, memory_order_relaxed) % HUGE_PROBE != HUGE_PROBE - 1;
}

bool huge_ask(void *start, size_t bytes) {
    return limit_may_split() && os_advise(start, bytes, OS_HUGE);
}

void huge_configure(bool huge_pages) {
    huges.asks = huge_pages;
}
