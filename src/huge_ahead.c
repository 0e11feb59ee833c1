/* Long blocks of which nothing is known: they are looked at while they are written for the first time, as no call tells.
 * docs/experiments/first-long-blocks.md */
#include "huge_parts.h"

#include "os.h"

#define AHEAD_LEAST (8 * MIB) /* bytes: shorter ones are written before a look would tell */
#define AHEAD_TELLS MIB       /* their first bytes, which tell */

_Atomic bool huge_is_awaited;
SPARSE struct huge_ahead huge_ahead;

static void *ahead_start(const struct huge_awaited *block) {
    return atomic_load_explicit(&block->start, memory_order_relaxed);
}

static void ahead_set(struct huge_awaited *block, void *start, size_t bytes) {
    block->bytes = bytes;
    atomic_store_explicit(&block->start, start,
                          memory_order_relaxed); /* read without the lock for who it is of */
}

/* Whether the kernel makes huge pages where it is asked for them, and there alone: else a look would change nothing. */
static bool ahead_is_of_use(void) {
    return !os_has_no_huge_pages() && os_huge_pages() == OS_HUGE_ASKED;
}

void huge_await(void *start, size_t bytes) {
    if (bytes < AHEAD_LEAST || !huge_is_unknown(bytes) || !ahead_is_of_use())
        return;
    lock_take(&huge_ahead.lock);
    ahead_set(&huge_ahead.blocks[huge_ahead.next++ % HUGE_AHEAD], start, bytes);
    lock_release(&huge_ahead.lock);
    atomic_store_explicit(&huge_is_awaited, true, memory_order_relaxed);
}

void huge_forget(const void *start, size_t bytes) {
    for (unsigned i = 0; bytes >= AHEAD_LEAST && i < HUGE_AHEAD; i++) {
        if (LIKELY(ahead_start(&huge_ahead.blocks[i]) != start))
            continue;
        lock_take(&huge_ahead.lock); /* nobody asks for huge pages there after this */
        if (ahead_start(&huge_ahead.blocks[i]) == start)
            ahead_set(&huge_ahead.blocks[i], NULL, 0);
        lock_release(&huge_ahead.lock);
    }
}

/* What it shows by now, which is known of its size from here on: of what may go meanwhile nothing is in memory. */
static enum huge_known ahead_look(const void *start, size_t bytes) {
    enum pages_density density;
    if (huge_is_unknown(bytes)) {
        pages_resident(start, AHEAD_TELLS, &density);
        if (density == PAGES_DENSE)
            huge_learn(start, bytes, density);
    }
    return huge_known(bytes);
}

/* Returns whether more may be known of it soon. Where it is written whole, what of it is not in memory comes in huge pages from here on. */
static bool ahead_look_at(struct huge_awaited *block) {
    lock_take(&huge_ahead.lock);
    void *start = ahead_start(block);
    size_t bytes = block->bytes;
    lock_release(&huge_ahead.lock);
    if (!start)
        return false;
    enum huge_known known = ahead_look(start, bytes);
    if (known == HUGE_UNKNOWN)
        return true;
    bool asks = huge_fills(bytes) && !limit_near();
    lock_take(&huge_ahead.lock);
    if (ahead_start(block) == start) { /* it is what it was */
        if (asks)
            huge_ask(start, block->bytes);
        ahead_set(block, NULL, 0);
    }
    lock_release(&huge_ahead.lock);
    return false;
}

bool huge_look_ahead(void) {
    bool more = false;
    for (unsigned i = 0; i < HUGE_AHEAD; i++)
        more |= ahead_look_at(&huge_ahead.blocks[i]);
    return more;
}

void huge_in_child(void) {
    huge_ahead.lock = (struct lock){0};
    for (unsigned i = 0; i < HUGE_AHEAD; i++)
        ahead_set(&huge_ahead.blocks[i], NULL, 0);
}
