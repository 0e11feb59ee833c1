/* huge_parts: what the files of huge share.
 *
 * Owns nothing: it is the state of huge, for the room's own files alone.
 *
 *     huge.c         what is known of the blocks of each size
 *     huge_ahead.c   the first long ones, which are looked at while they are written
 *
 * P1  beyond those of huge.h: huge_ahead changes under the lock alone
 *
 * Called by those.
 */
#ifndef HAKMEM_HUGE_PARTS_H
#define HAKMEM_HUGE_PARTS_H

#include "huge.h"

#include "limit.h"
#include "lock.h"

/* What is known of the blocks of one size. */
struct huge_size {
    _Atomic uint8_t known;       /* enum huge_known */
    _Atomic uint32_t wanted;     /* mappings that were to get huge pages, or to be a probe */
    const void *_Atomic watched; /* the last block with small pages, NULL once it has told */
};

struct huges {
    bool asks;
    struct huge_size sizes[HUGE_SIZES]; /* from HUGE_TELLS on, by doubling; the last one has no end */
};

extern struct huges huges;

/* A mapping that is written for the first time: it neither grew nor shrank. Both under the lock; whoever ends that looks at `start` without it. */
struct huge_awaited {
    void *_Atomic start;
    size_t bytes;
};

/* Apart, and all zero at first: a program without long blocks touches none of it. */
extern struct huge_ahead {
    struct lock lock; /* of rank 0: nothing is locked under it */
    unsigned next;
    struct huge_awaited blocks[HUGE_AHEAD];
} huge_ahead;

#endif
