/* remote: blocks freed by a thread that does not own their slab.
 *
 * Owns the way a block goes back to the heap it came from. The freeing thread sets the block's bit in the
 * slab's record; who sets the first bit of a word marks the word in the summary; who marks the first word
 * hands the slab to its owner's inbox. So the blocks of a slab that come back together cost one hand-over,
 * and one atomic operation each.
 *
 *     word |= bit --old 0--> summary |= word --old 0--> inbox of slab->owner
 *
 * P1  a slab with a summary other than 0 is on its way to exactly one inbox, or in it
 * P2  every bit that was set is collected, and only once
 * P3  no block is touched, and nobody waits
 *
 * A slab may change its owner while it is on the way: whoever finds it in the wrong inbox delivers it again.
 * Heaps and slab records are never unmapped, so a late reader is never lost. tests/model explores every
 * interleaving of this protocol.
 */
#ifndef HAKMEM_REMOTE_H
#define HAKMEM_REMOTE_H

#include "misuse.h"
#include "slab.h"

/* Slabs that wait for their owner: anybody pushes, one takes all. */
struct inbox {
    ALIGNED(64) struct slab *head;
};

/* Frees a block of somebody else's slab. Any thread. Misuse is told and changes nothing. */
enum slab_verdict remote_free(struct slab *slab, const void *block);

/* Hands the slab to the inbox of its owner (again). */
void remote_deliver(struct slab *slab);

/* Everything in the inbox, linked by inbox_next; NULL when it is empty. Its owner only. */
struct slab *remote_take(struct inbox *inbox);

/* Moves the bits that others set into the slab's own. Its owner only, for a slab from its inbox. */
void remote_collect(struct slab *slab);

/* True when the block is free: in the slab's own bits, or waiting to be collected. Any thread that holds the
 * block, for verified calls. */
bool remote_is_freed(const struct slab *slab, uint32_t number);

/* True while the slab is in an inbox, or on its way to one: it must not be deleted. A correct program has all
 * blocks of an empty slab collected; one that frees a block twice may not. */
bool remote_is_on_its_way(const struct slab *slab);

/* True when `block` waits in the record of its slab to be collected. For verified frees. */
bool remote_is_waiting(const struct slab *slab, uint32_t number);

#endif
