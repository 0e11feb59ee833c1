/* remote: blocks freed by a thread that does not own their slab.
 *
 * Owns the way a block goes back to the heap it came from. The freeing thread collects such blocks in its outbox and
 * sends them together, word of bits by word: it sets the blocks' bits in the slab's record; who sets the first bits
 * of a word marks the word in the summary; who marks the first word hands the slab to its owner's inbox. So blocks
 * that were allocated together cost one atomic operation for up to 64 of them, and the owner does nothing per block.
 *
 *     outbox: p p p p ...  --full-->  word |= bits --old 0--> summary |= word --old 0--> inbox of slab->owner
 *
 * Batches for one owner are also what Lietar and others 2019 ("snmalloc") send, as lists through the blocks; here they
 * need no message: the bits are in the slab as soon as they are sent, whatever the owner does.
 *
 * An inbox has a list for each class, and the owner collects a slab only when it wants blocks of its class: until then
 * the slab fills up, and its senders change nothing but one word. docs/experiments/batched-remote-frees.md
 *
 * P1  a slab with a summary other than 0 is on its way to exactly one inbox, or in it
 * P2  every bit that was set is collected, and only once, and not before its word is marked
 * P3  no block is touched, and nobody waits
 * P4  an outbox holds at most OUTBOX_BLOCKS blocks and OUTBOX_BYTES, and one block more
 * P5  for a slab of one unit, sending reads and writes only what the owner leaves alone until it collects
 *
 * A slab may change its owner while it is on the way: whoever finds it in the wrong inbox delivers it again.
 * Heaps and slab records are never unmapped, so a late reader is never lost. A block in an outbox is in use as far as
 * its slab knows, so the slab stays. tests/model explores every interleaving of this protocol.
 */
#ifndef HAKMEM_REMOTE_H
#define HAKMEM_REMOTE_H

#include "misuse.h"
#include "slab.h"

/* Slabs that wait for their owner, by class. Anybody pushes, and who finds the list of a class empty marks the class; the
 * owner takes all of a class, and collects one by one what it has taken. A class of which there is something in the first
 * or the second list is marked in `waiting` or `asked`, or will be. */
struct inbox {
    ALIGNED(64) struct slab *head[SIZECLASS_COUNT];
    uint64_t waiting[SIZECLASS_SET_WORDS];           /* a bit a class */
    ALIGNED(64) struct slab *taken[SIZECLASS_COUNT]; /* the owner's, as all from here on */
    uint64_t asked[SIZECLASS_SET_WORDS]; /* marks that are taken, and classes that are to be collected */
};

enum { OUTBOX_BLOCKS = 256, OUTBOX_BYTES = OUTBOX_BLOCKS * SIZECLASS_POSTED_LEAST };

/* Blocks of others that one thread has freed and not yet sent. */
struct outbox {
    union {
        uint64_t posted; /* both sums, which a block changes at once */
        struct {
            uint32_t count, bytes; /* of a block of few bytes SIZECLASS_POSTED_LEAST */
        };
    };
    void *blocks[OUTBOX_BLOCKS];
    uint32_t scattered; /* sends to come for which blocks are taken to be in no order */
    uint32_t alone;     /* and to be alone in their words */
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "count is the lower half");

/* Adds a block of `class`. True: the outbox is full and must be sent before the next one. Its thread only. */
static ALWAYS_INLINE bool remote_post(struct outbox *outbox, void *block, unsigned class) {
    uint64_t posted = outbox->posted;
    outbox->blocks[(uint32_t)posted] = block;
    outbox->posted = posted += sizeclass_table[class].posted;
    return posted >= (uint64_t)OUTBOX_BYTES << 32;
}

/* Sends everything in the outbox; at most OUTBOX_BLOCKS blocks' work. Its thread only. */
void remote_send(struct outbox *outbox);

/* Frees one block of somebody else's slab at once. Any thread. Misuse is told and changes nothing. */
enum slab_verdict remote_free(struct slab *slab, const void *block);

/* Returns a slab that a visitor was lent: through the inbox, as if something of it had been freed from elsewhere. */
void remote_return(struct slab *slab);

/* True while a visitor has the slab. Its owner only, for a slab from its inbox. */
bool remote_is_lent(const struct slab *slab);

/* Hands the slab to the inbox of its owner (again). */
void remote_deliver(struct slab *slab);

/* True when something may have come into the inbox since remote_class said that all was collected. Any thread; a hint. */
bool remote_waits(const struct inbox *inbox);

/* True when a slab of `class` waits. Its owner only; a hint. */
static inline bool remote_waits_in(const struct inbox *inbox, unsigned class) {
    return inbox->taken[class] || __atomic_load_n(&inbox->head[class], __ATOMIC_RELAXED);
}

/* A class of which the inbox may have slabs; SIZECLASS_COUNT: there is none. Its owner only. */
unsigned remote_class(struct inbox *inbox);

/* remote_take had none of that class. Its owner only. */
void remote_class_done(struct inbox *inbox, unsigned class);

/* A slab of `class` out of the inbox; NULL when there is none. Its owner only. */
struct slab *remote_take(struct inbox *inbox, unsigned class);

/* Moves the bits that others set into the slab's own. Its owner only, for a slab from its inbox. Returns how many words
 * had bits. */
unsigned remote_collect(struct slab *slab);

/* True when the block is free: in the slab's own bits, or waiting to be collected. Any thread that holds the
 * block, for verified calls. */
bool remote_is_freed(const struct slab *slab, uint32_t number);

/* True while the slab is lent, in an inbox, or on its way to one: it must not be deleted. A correct program has all
 * blocks of an empty slab collected; one that frees a block twice may not. */
bool remote_is_on_its_way(const struct slab *slab);

/* True when `block` waits in the record of its slab to be collected. For verified frees. */
bool remote_is_waiting(const struct slab *slab, uint32_t number);

#endif
