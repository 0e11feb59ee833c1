/* remote_parts: what the files of remote share.
 *
 * Owns nothing: it is how bits are set, for the room's own files alone.
 *
 *     remote.c        the way of one block, inboxes, what their owner collects
 *     remote_send.c   what is in an outbox, sent together
 *
 * P1  as in remote.h: no line that the owner writes is touched until it collects
 *
 * Called by those.
 */
#ifndef HAKMEM_REMOTE_PARTS_H
#define HAKMEM_REMOTE_PARTS_H

#include "remote.h"

/* Hands a slab of `class` to the inbox of its owner. Any thread. */
void remote_deliver_class(struct slab *slab, unsigned class);

/* Sets bits of one word for the owner to collect. Returns those of them that were set already. Touches no line that the
 * owner writes, until it collects. */
static inline uint64_t remote_set_bits(struct slab *slab, unsigned class, unsigned word, uint64_t bits) {
    /* Release: what was written to the blocks comes before their reuse; pairs with remote_collect. */
    uint64_t old = __atomic_fetch_or(slab_remote_word(slab, class, word), bits, __ATOMIC_ACQ_REL);
    /* Release: the bits are set before the summary says so; pairs with remote_collect's exchange. */
    if (old == 0 && __atomic_fetch_or(&slab->remote_summary, 1ULL << word, __ATOMIC_ACQ_REL) == 0)
        remote_deliver_class(slab, class);
    return old & bits;
}

#endif
