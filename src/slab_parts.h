/* slab_parts: what the parts of the room share.
 *
 *     slab        a run of equal blocks: carve, pop, push, count
 *     slab_hand   runs that a heap keeps where threads wait for each other to get theirs
 *
 * What the room promises to others is in slab.h; to each other its parts promise:
 *
 * P1  records that nobody uses change hands under the room's lock
 *
 * Called by the room slab alone.
 */
#ifndef HAKMEM_SLAB_PARTS_H
#define HAKMEM_SLAB_PARTS_H

#include "dense.h"
#include "lock.h"
#include "slab.h"

/* Unused records, by how many lines of 64 bytes they have. */
enum { RECORD_LINES = (int)(sizeof(struct slab) + 2 * 64 * sizeof(uint64_t)) / CACHE_LINE + 1 };

struct slabs {
    struct lock lock;
    struct slab *unused[RECORD_LINES];
};

extern struct slabs slabs;

static inline unsigned slab_record_lines(unsigned class) {
    unsigned words = sizeclass_table[class].words,
             far = words > SLAB_REMOTE_NEAR ? words - SLAB_REMOTE_NEAR : 0;
    return (unsigned)(sizeof(struct slab) / CACHE_LINE) + slab_lines(words) + slab_lines(far);
}

/* Relaxed: read by slab_was_carved. */
static inline void slab_carve_to(struct slab *slab, unsigned blocks) {
    __atomic_store_n(&slab->carved, (uint16_t)blocks, __ATOMIC_RELAXED);
}

/* Longer blocks have pages between their ends. Whether those are touched is still to be seen. */
static inline enum dense_kind slab_dense_kind(unsigned class) {
    size_t size = sizeclass_table[class].size;
    return size <= SLAB_SURE_LARGEST ? DENSE_SURELY : size <= SLAB_SHORT_LARGEST ? DENSE_SHORT : DENSE_LONG;
}

/* All of its blocks were handed out: what of their pages a program may be expected to touch has been. */
static inline bool slab_is_full(const struct slab *slab) {
    return slab_fresh(slab) == 0;
}

/* All of its pages were touched, as far as that can be told. */
static inline bool slab_fills(const struct slab *slab) {
    return slab_is_full(slab) && slab_dense_kind(slab->class) != DENSE_LONG;
}

/* Its run, as it is given back. */
static inline struct superslab_run slab_run(const struct slab *slab) {
    return (struct superslab_run){
        .start = slab_unit(slab), .home = slab->home, .units = slab->units, .full = slab_fills(slab)};
}

/* The slab stands on the run from here on. */
static inline void slab_stand(struct slab *slab, const struct superslab_run *run) {
    slab->start = run->start;
    slab->home = run->home;
    slab->units = (uint8_t)run->units;
    slab->untouched = run->zeroed;
}

/* An unused record of so many lines; NULL if there is none. Under the lock, as the next. */
static inline struct slab *slab_pop_record(unsigned lines) {
    struct slab *slab = slabs.unused[lines];
    if (slab)
        slabs.unused[lines] = slab->next;
    return slab;
}

static inline void slab_push_record(struct slab *slab) {
    unsigned lines = slab_record_lines(slab->class);
    slab->next = slabs.unused[lines];
    slabs.unused[lines] = slab;
}

/* ---- slab_hand ---- */

/* A record with a run of `units` from the hand. NULL: there is none of that length with a record for the class. */
NOINLINE struct slab *slab_hand_take(struct slab_hand *hand, unsigned class, unsigned units);

/* What was just asked of superslab had to wait for another thread, or not. A heap has a hand since it first had to, if there is memory
 * for it: until then this, and what follows, may be left out. */
NOINLINE void slab_hand_learn(struct slab_hand **hand, bool waited);

/* The same of a run that was taken for a slab of `class`, `use` as it was asked for. The hand may take more with it. */
NOINLINE void slab_hand_follow(struct slab_hand **hand, unsigned class, const struct superslab_run *run,
                               enum superslab_use use);

/* There is no memory: what is at hand is given back, and superslab_take_some asked again if there was something. */
COLD struct superslab_run slab_hand_yield(struct slab_hand *hand, unsigned least, unsigned most,
                                          enum superslab_use use);

/* A slab was deleted: its run and record stay in the hand. False: it may not hold that much. */
NOINLINE bool slab_hand_put(struct slab_hand **hand, struct slab *slab);

#endif
