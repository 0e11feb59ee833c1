/* superslab_parts: what the parts of the room share.
 *
 *     superslab        address space: mapped, found by length, handed out, taken back
 *     superslab_home   what goes home: units at once or after a rest, superslabs as a whole
 *     superslab_field  large blocks that are written whole: neighbouring superslabs
 *     superslab_areas  huge pages: areas of 2 MiB that have them, lose them, or get them later
 *
 * What the room promises to others is in superslab.h; to each other its parts promise:
 *
 * P1  what changes a superslab's units, or the sums, holds the room's lock
 *
 * Called by the room superslab alone.
 */
#ifndef HAKMEM_SUPERSLAB_PARTS_H
#define HAKMEM_SUPERSLAB_PARTS_H

#include "lock.h"
#include "superslab.h"

enum {
    GROUP = 64, /* superslabs that one word tells of */
    LENGTHS = SUPERSLAB_RUN_LARGEST,
    AREA_UNITS = 32 /* of a huge page of 2 MiB */
};

#define AREA_SIZE ((size_t)AREA_UNITS * UNIT_SIZE)

/* Sixty-four superslabs, and for each length of a run, [length - 1], the set of those in small pages that have one free: a bit each.
 * Side by side, so that a small heap touches a few lines for all of them. */
struct superslab_group {
    uint64_t fit[LENGTHS];
    struct superslab *member[GROUP];
};

struct superslabs {
    struct lock lock;
    size_t huge_from; /* dense bytes in use: a heap below gets small pages, which are all that it touches */
    bool decommit, decommit_lazily;
    bool keep_small; /* the kernel makes huge pages unasked, and a small heap would touch one for a few KiB */
    bool sorts;      /* what fills its pages and what does not lie apart */
    bool mixes;      /* ... never, as addresses are few */
    bool asks_nothing;
    bool forks; /* the process has forked, or comes from a fork; atomic, relaxed: a hint */
    uint32_t count;
    uint32_t purge_from; /* no superslab from here on has dirty units */
    uint32_t warm_from;  /* where dirty units were found last */
    struct superslab *vacant;
    uint32_t leaving; /* calls that are under way for units that leave */
    size_t dirty_units, mapped_units, free_units, waiting_units;
    size_t field_units, field_used; /* of those that are mapped, and in use */
    size_t staying_units;           /* dirty ones that stay, as of the last look; atomic, relaxed: a hint */
    size_t used_peak;               /* the most units that were ever in use at once */
    uint32_t look;                  /* how many have ended */
    struct superslab *packing;      /* stays mapped meanwhile */
    size_t begun_for_room;          /* areas, where huge pages come from the first byte on */
    uint32_t fields;                /* how many there are; atomic, relaxed: a hint */
    bool no_more_fields;            /* none can be had; as `fields` */
    uint32_t outside_from;          /* the next one that is looked at for dirty units that are in no field */
    uint32_t pack_from;             /* the superslab that the next look begins with */
    struct superslab_group first;
};

extern struct superslabs superslabs;

/* Superslab `number`, of those that were ever made. */
struct superslab **superslab_at(uint32_t number);

static inline uint64_t superslab_mask(unsigned from, unsigned units) {
    return (units == 64 ? ~0ULL : (1ULL << units) - 1) << from;
}

/* Totals are written under the lock and read without it. */
static inline void superslab_add(size_t *total, size_t units) {
    __atomic_store_n(total, *total + units, __ATOMIC_RELAXED);
}

static inline unsigned superslab_unit_of(const struct superslab *home, const void *start) {
    return (unsigned)((size_t)((const unsigned char *)start - home->start) >> UNIT_SHIFT);
}

/* ---- superslab: under the lock ---- */

/* A new superslab of a field, with all of its units free. NULL: no memory. */
struct superslab *superslab_new_in_field(unsigned char *start);

/* It has no address space from here on. All of it was claimed, and is not mapped any more. */
void superslab_vacate(struct superslab *home);

/* Free units hold memory while they are dirty, the others from now on: asked before they are claimed to be handed out. */
bool superslab_may_hold(const struct superslab *home, uint64_t mask);

/* Free units are nobody else's from here on; returns whether all of them read as zero. */
bool superslab_claim(struct superslab *home, uint64_t mask);

/* As superslab_claim, for somebody who will use them; what is claimed only to give it home is not in use. */
static inline bool superslab_hand_out(struct superslab *home, uint64_t mask) {
    if (mask & ~home->dirty)
        home->grown = superslabs.look;
    bool zeroed = superslab_claim(home, mask);
    size_t used = superslabs.mapped_units - superslabs.free_units;
    if (used > superslabs.used_peak)
        superslab_add(&superslabs.used_peak, used - superslabs.used_peak);
    return zeroed;
}

/* They are free again, and dirty. */
void superslab_return(struct superslab *home, uint64_t mask);

/* The same for what somebody has used; whether all of their pages were touched. */
void superslab_return_used(struct superslab *home, uint64_t mask, bool full);

/* They are free again, and hold nothing; what they held may show if they are stale. */
void superslab_return_empty(struct superslab *home, uint64_t mask, bool stale);

/* Units of areas that hold memory which somebody has, or had. */
uint64_t superslab_begun(const struct superslab *home);

/* Whether areas that are in use as a whole are made huge: also where not much is known to be dense, as each is looked at. */
bool superslab_wants_packs(void);

/* What is to be known before the first superslab. Under the lock. */
void superslab_prepare(void);

/* ---- superslab_home ---- */

/* Decommits the first dirty units of a superslab that has any. Under the lock, which is not held during the call. Returns the bytes. */
size_t superslab_purge_one(struct superslab *home);

/* ---- superslab_field ---- */

/* Where new memory has come in no field, or in one: about as much goes home of what is dirty in fields, or not. Under the lock, which is
 * not held during calls. Returns the bytes that went home. */
size_t superslab_make_room(bool in_fields, size_t bytes);

/* As superslab_return_used, for units of a run that may lie in several superslabs, counted from the start of `home`. */
void superslab_return_pieces(struct superslab *home, unsigned from, unsigned units, bool full);

/* Unmaps the fields that are free as a whole. Under the lock, which is not held during a call. Returns the bytes. */
size_t superslab_unmap_fields(void);

/* ---- superslab_areas ---- */

/* Of dirty units that rested, those that stay in memory, because of each one's area too few would go to split a huge page. */
uint64_t superslab_stays(const struct superslab *home, uint64_t rested);

/* Units that nobody was given, of areas in huge pages that somebody has a part of: they are in memory all the same, until they are shed.
 * Those of an area for which a huge page is split, or of one that was. */
uint64_t superslab_unused(const struct superslab *home);

/* Before the pages of a range go home: areas of which only a part goes are to become no huge pages again. */
void superslab_split(struct superslab *home, const unsigned char *start, size_t bytes);

/* When units went home: areas that hold no page any more may become huge pages again. Under the lock, which is not held during a call. */
void superslab_rouse(struct superslab *home, uint64_t mask);

#endif
