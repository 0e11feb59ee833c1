/* What goes home: units at once, down to a bound, or after a rest; superslabs when address space is short. */
#include "superslab_parts.h"

#include "os.h"

enum { SHED_AFTER = 5 /* looks without growth: a program that grows in steps is not torn */ };

/* The dirty units of a superslab that were not given back since the last look. */
static uint64_t superslab_rested(const struct superslab *home) {
    return home->dirty & ~(home->look == superslabs.look ? home->recent : 0);
}

/* Its dirty units; or those that rested and may go. */
static uint64_t superslab_dirty_of(const struct superslab *home, bool rested) {
    return !rested ? home->dirty : superslab_rested(home) & ~superslab_stays(home, superslab_rested(home));
}

static void superslab_count_staying(void) {
    size_t staying = 0;
    for (uint32_t number = 0; number < superslabs.purge_from; number++) {
        const struct superslab *home = *superslab_at(number);
        staying += bits_count(superslab_stays(home, superslab_rested(home)));
    }
    __atomic_store_n(&superslabs.staying_units, staying, __ATOMIC_RELAXED);
}

/* The lowest units of the mask that lie side by side. */
static uint64_t superslab_first_run(uint64_t mask) {
    unsigned first = bits_lowest(mask);
    uint64_t rest = ~(mask >> first);
    return superslab_mask(first, rest ? bits_lowest(rest) : 64);
}

/* The first run of such units of the youngest superslab below *from that has any, claimed; 0 when there is none. */
static uint64_t superslab_claim_dirty(struct superslab **home, uint32_t *from, bool rested) {
    for (; *from > 0; --*from) {
        struct superslab *candidate = *superslab_at(*from - 1);
        uint64_t dirty = superslab_dirty_of(candidate, rested);
        if (dirty == 0)
            continue;
        uint64_t mask = superslab_first_run(dirty);
        superslab_claim(candidate, mask);
        *home = candidate;
        return mask;
    }
    return 0;
}

bool superslab_decommit(struct superslab *home, void *start, size_t bytes) {
    if (!superslabs.decommit)
        return false;
    if (home)
        superslab_split(home, start, bytes);
    return os_advise(start, bytes, superslabs.decommit_lazily ? OS_FREE : OS_DONTNEED);
}

bool superslab_clear(void *start, size_t bytes) {
    return superslabs.decommit && !superslabs.decommit_lazily && os_advise(start, bytes, OS_DONTNEED);
}

/* Gives claimed units home. Under the lock, which is not held during calls: who forks meanwhile finds that they leave. Returns whether
 * they went. */
static bool superslab_send_home(struct superslab *home, uint64_t mask) {
    unsigned char *start = home->start + (size_t)bits_lowest(mask) * UNIT_SIZE;
    home->leaving |= mask;
    superslabs.leaving++;
    lock_release(&superslabs.lock);
    bool advised = superslab_decommit(home, start, (size_t)bits_count(mask) * UNIT_SIZE); /* P4: claimed */
    lock_take(&superslabs.lock);
    if (advised && !superslabs.decommit_lazily)
        superslab_rouse(home, mask);
    superslabs.leaving--;
    home->leaving &= ~mask;
    return advised;
}

/* The same for what somebody has used; it is free again then. Returns the bytes that went. */
static size_t superslab_send_dirty_home(struct superslab *home, uint64_t mask) {
    bool advised = superslab_send_home(home, mask);
    superslab_return_empty(home, mask, !advised || superslabs.decommit_lazily);
    return advised ? (size_t)bits_count(mask) * UNIT_SIZE : 0;
}

/* Under the lock, which is not held during a call. */
static size_t superslab_purge_from(uint32_t *from, bool rested, size_t keep, unsigned calls) {
    size_t purged = 0;
    for (;
         superslabs.decommit && calls > 0 && superslabs.dirty_units * UNIT_SIZE > keep && limit_budget_left();
         calls--) {
        struct superslab *home = NULL;
        uint64_t mask = superslab_claim_dirty(&home, from, rested);
        if (mask == 0)
            break;
        if (!limit_may_purge()) {
            superslab_return(home, mask);
            break;
        }
        purged += superslab_send_dirty_home(home, mask);
    }
    return purged;
}

size_t superslab_purge_one(struct superslab *home) {
    if (!superslabs.decommit || !limit_budget_left() || !limit_may_purge())
        return 0;
    uint64_t mask = superslab_first_run(home->dirty);
    superslab_claim(home, mask);
    return superslab_send_dirty_home(home, mask);
}

size_t superslab_purge(size_t keep, unsigned calls) {
    lock_take(&superslabs.lock);
    size_t purged = superslab_purge_from(&superslabs.purge_from, false, keep, calls);
    lock_release(&superslabs.lock);
    return purged;
}

size_t superslab_purge_rested(unsigned calls) {
    lock_take(&superslabs.lock);
    uint32_t from = superslabs.purge_from;
    size_t purged = superslab_purge_from(&from, true, 0, calls);
    superslab_count_staying();
    lock_release(&superslabs.lock);
    return purged;
}

/* Of one superslab. Under the lock, which is not held during calls. */
static size_t superslab_shed_from(struct superslab *home, uint64_t unused) {
    size_t shed = 0;
    for (uint64_t run; (unused &= home->free & ~(home->dirty | home->stale)) != 0; unused &= ~run) {
        run = superslab_first_run(unused);
        if (!limit_may_purge())
            break;
        limit_hold((size_t)bits_count(run) * UNIT_SIZE); /* a child of a fork has it as dirty */
        superslab_claim(home, run);
        bool advised = superslab_send_home(home, run);
        superslab_return_empty(home, run, false); /* nobody has written there */
        shed += advised ? bits_count(run) : 0;
    }
    return shed;
}

size_t superslab_shed(bool now, bool *later) {
    size_t shed = 0;
    lock_take(&superslabs.lock);
    uint32_t end = superslabs.decommit && superslab_has_huge ? superslabs.count : 0;
    for (uint32_t number = 0; number < end; number++) {
        struct superslab *home = *superslab_at(number);
        uint64_t unused = home->start ? superslab_unused(home) : 0;
        bool rests = now || superslabs.look - home->grown >= SHED_AFTER;
        if (unused != 0 && rests && limit_budget_left())
            shed += superslab_shed_from(home, unused);
        else
            *later |= unused != 0;
    }
    lock_release(&superslabs.lock);
    *later |= shed > 0; /* the rest, if the budget ended; and what stayed in a huge page */
    return shed * UNIT_SIZE;
}

void superslab_end_look(void) {
    lock_take(&superslabs.lock);
    superslabs.look++;
    lock_release(&superslabs.lock);
}

/* The first superslab from *number on that is free as a whole, claimed; all of it counts as held now. */
static struct superslab *superslab_claim_whole(uint32_t *number) {
    for (; *number < superslabs.count; ++*number) {
        struct superslab *home = *superslab_at(*number);
        if (home->start && !home->field && home != superslabs.packing &&
            home->free == superslab_mask(0, home->units)) {
            limit_hold((size_t)bits_count(home->free & ~home->dirty) * UNIT_SIZE);
            superslab_claim(home, home->free);
            return home;
        }
    }
    return NULL;
}

size_t superslab_unmap_free(void) {
    size_t unmapped = 0;
    struct superslab *home;
    limit_count_mappings();
    if (!limit_may_split()) /* superslabs lie side by side in one mapping */
        return 0;
    lock_take(&superslabs.lock);
    for (uint32_t number = 0; (home = superslab_claim_whole(&number)) != NULL; number++) {
        lock_release(&superslabs.lock);
        bool gone = pagemap_unmap(home->start, (size_t)home->units * UNIT_SIZE); /* P4: claimed above */
        lock_take(&superslabs.lock);
        if (gone) {
            superslab_vacate(home);
            unmapped += (size_t)home->units * UNIT_SIZE;
        } else {
            superslab_return(home, superslab_mask(0, home->units));
        }
    }
    unmapped += superslab_unmap_fields();
    lock_release(&superslabs.lock);
    return unmapped;
}

/* What was about to be unmapped may be unmapped: that stays nobody's. */
void superslab_in_child(void) {
    for (uint32_t number = 0; superslabs.leaving > 0 && number < superslabs.count; number++) {
        struct superslab *home = *superslab_at(number);
        uint64_t mask = home->leaving;
        home->leaving = 0;
        if (mask != 0)
            superslab_return(home, mask);
    }
    if (superslabs.leaving > 0 || superslabs.packing) { /* a page that is not written to is not copied */
        superslabs.leaving = 0;
        superslabs.packing = NULL;
    }
}
