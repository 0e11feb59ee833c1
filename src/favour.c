#include "favour.h"

#include "os.h"

enum { SEAT_LOOKS = 2000 };             /* at a seat, before sleeping between two of them */
#define REST ((uint64_t)50 * 1000)      /* ns between two looks */
#define STORES ((uint64_t)10000 * 1000) /* ns in which what a processor has stored has left for the cache */

THREAD_LOCAL struct favour_seat *favour_seat;

void favour_prepare(bool first) {
    if (os_barrier_ready() || !os_is_alone(first))
        return;
    if (!os_is_filtered())
        os_barrier_prepare();
    else if (first)
        os_note_inherited_filter();
}

static bool favour_may_be_given(void) {
    return os_barrier_ready() && !os_is_filtered();
}

/* Under the lock: from here on the seat's thread comes by the lock, and is not inside. */
static void favour_take_away(struct favour *favour, struct favour_seat *seat) {
    static _Atomic uint32_t never;
    atomic_store_explicit(&favour->favourite, NULL, memory_order_seq_cst);
    if (seat == favour_seat)
        return;
    if (UNLIKELY(os_is_filtered() || !os_barrier_everywhere())) {
        os_wait_for(&never, 0, STORES);
        favour->needed = UINT32_MAX; /* P3 */
    }
    for (unsigned look = 0; atomic_load_explicit(&seat->busy, memory_order_acquire);
         look++) /* pairs with favour_release */
        if (look < SEAT_LOOKS)
            base_pause();
        else
            os_wait_for(&seat->busy, 1, REST); /* it does not run: let it */
}

static struct favour_seat *favour_of(struct favour *favour) {
    return atomic_load_explicit(&favour->favourite, memory_order_relaxed); /* under the lock */
}

void favour_take_lock(struct favour *favour) {
    lock_take(&favour->lock);
    struct favour_seat *seat = favour_of(favour), *mine = favour_seat;
    if (seat && seat != mine) {
        favour_take_away(favour, seat);
        favour->suspended = mine ? NULL : seat;
        if (mine && favour->needed < FAVOUR_MOST)
            favour->needed *= 2; /* P2 */
    }
    if (!mine)
        return;
    favour->changes += mine != favour->last && !favour_is_shared(favour);
    favour->turns = mine == favour->last ? favour->turns + 1 : 1;
    favour->last = mine;
}

void favour_end(struct favour *favour) {
    favour_take_lock(favour);
    struct favour_seat *seat = favour_of(favour);
    if (seat)
        favour_take_away(favour, seat);
    favour->suspended = NULL;
    favour->turns = favour->changes = 0;
}

/* Who has come often enough in a row is the favourite from here on. */
static void favour_give(struct favour *favour) {
    favour->turns = favour->changes = 0;
    if (favour_seat == NULL || favour_of(favour) == favour_seat || !favour_may_be_given())
        return;
    atomic_store_explicit(&favour_seat->busy, 0, memory_order_relaxed); /* after a fork it may be anything */
    /* Release: pairs with favour_enter, as the next one does. */
    atomic_store_explicit(&favour->favourite, favour_seat, memory_order_release);
}

void favour_release_lock(struct favour *favour) {
    if (UNLIKELY(favour->suspended)) {
        struct favour_seat *seat = favour->suspended;
        favour->suspended = NULL;
        if (favour->needed != UINT32_MAX)
            atomic_store_explicit(&favour->favourite, seat, memory_order_release);
    } else if (UNLIKELY(favour->turns >= favour->needed)) {
        favour_give(favour);
    }
    lock_release(&favour->lock);
}
