/* superslab: address space, in runs of 64 KiB units.
 *
 * Owns every mapping that slabs and runs live in. The address space comes in superslabs of 64 units (4 MiB);
 * one bit a unit says whether it is free, one whether a free unit may still hold memory (dirty), one whether
 * its old content may show (stale). New address space is mapped a few superslabs at a time, growing with
 * what is already there; when that fails, in smaller and smaller pieces down to one run.
 *
 *     free    1 1 0 0 1 1 1 ...   in nobody's hands
 *     dirty   1 0 - - 1 0 0 ...   free, but the kernel still holds pages for it: used first, purged last
 *
 * P1  a unit handed out is not free, and nobody else has it
 * P2  dirty, stale and absent units are free units
 * P3  the sum of dirty units is what superslab_dirty_bytes says
 * P4  pages are only given home of units that this room mapped and that nobody has
 *
 * The lowest superslab with a run that fits is used first, so that the high ones drain. In a heap of which some MiB are touched as a
 * whole, and others may not be, that is the lowest in huge pages for the one, in small ones for the other; of a large one most of which is, in
 * huge ones but for what is hardly touched. Large blocks that are
 * written whole lie in fields: neighbouring superslabs in huge pages, where a run may go on in the next one and the shortest that fits
 * is taken; others get only what is dirty there. One lock of rank 5; purging takes units out, advises outside the lock, and puts them back. Finding a run takes bounded time:
 * three words of a bitmap and one superslab, for each of the two kinds; in a field, the words of all fields, 2 GiB at most.
 */
#ifndef HAKMEM_SUPERSLAB_H
#define HAKMEM_SUPERSLAB_H

#include "limit.h"
#include "pagemap.h"

enum {
    SUPERSLAB_UNITS = 64,
    SUPERSLAB_RUN_LARGEST = 16 /* units: a larger block has a mapping of its own */
};

struct superslab {
    uint64_t free, dirty, stale; /* a bit a unit */
    uint64_t full;               /* while dirty: all of its pages were touched; else it means nothing */
    uint64_t recent;             /* units that were given back since look `look` at what rests */
    uint64_t leaving;            /* nobody's, nor free: a thread gives their pages home, without the lock */
    uint64_t absent;      /* free units that went home since all of their area was free and held nothing */
    unsigned char *start; /* NULL: vacant, its address space went home */
    uint32_t number;      /* place in the table; lower is older */
    uint32_t longest;     /* units in its longest free run, at most SUPERSLAB_RUN_LARGEST */
    uint32_t units;       /* how many it has */
    uint32_t look;
    uint32_t grown; /* look at which units were handed out last that held no memory */
    bool field;     /* one of a field */
    bool huge;      /* huge pages were asked for: that a page is in memory tells nothing */
    uint8_t calm;   /* ... but for these areas of AREA_UNITS no longer; a bit each, atomic */
    uint8_t packed; /* areas that became huge pages later, and of which nothing went home since; atomic */
    uint8_t rests;  /* areas of which all was in use, but for what stays, when they were last looked at */
    union {
        struct superslab *next_vacant; /* while it has no address space */
        struct superslab *beside;      /* in a field: what lies behind it, NULL: its end */
    };
};

/* What a run is for, as far as the caller knows, and so which pages suit it; each lies among its own. */
enum superslab_use {
    SUPERSLAB_MIXED, /* nothing is known: as most of the heap */
    SUPERSLAB_FILLS, /* all pages will be touched soon: huge ones pay whatever the rest of the heap is like */
    SUPERSLAB_SPARSE /* most may never be, or it is to tell: small ones, unless the heap has huge ones from its first byte on */
};

struct superslab_run {
    unsigned char *start; /* NULL: no memory */
    struct superslab *home;
    unsigned units;
    bool zeroed; /* every byte reads as zero */
    bool full;   /* some of its units were given back as full, are in memory still, and may go home */
    bool waited; /* another thread was at it meanwhile */
};

/* Takes `units` (1..SUPERSLAB_RUN_LARGEST) neighbouring units; what is in memory already first. */
struct superslab_run superslab_take(unsigned units, enum superslab_use use);

/* The same of `most` units; or fewer, `least` of them or more, where those that are free and hold memory lie about in shorter runs.
 * docs/experiments/warm-pieces.md */
struct superslab_run superslab_take_some(unsigned least, unsigned most, enum superslab_use use);

/* Up to `count` runs of `units` at once, of memory that was in use before. Returns how many: none if what superslab_take would take
 * was not. */
unsigned superslab_take_more(struct superslab_run *runs, unsigned count, unsigned units,
                             enum superslab_use use);

/* True when the heap holds enough of what is dense for that to get huge pages; of what is not, perhaps more. */
bool superslab_may_sort(void);

/* True when so much is in use that a huge page of which not all is needed weighs little. A hint. */
bool superslab_seems_large(void);

/* Takes `units` for a run that will grow: where there is room for that, if such a place is to be had. */
struct superslab_run superslab_take_roomy(unsigned units);

/* Takes `units` of a field, for what will be written whole: where such memory is free already; or anywhere, if it may be `fresh`.
 * docs/experiments/fields.md */
struct superslab_run superslab_take_field(unsigned units, bool fresh);

/* Hints: whether there is a field; how many bytes of fields are in use; whether these and as many bytes outside are enough for more
 * memory of one; and whether there may be more. */
bool superslab_has_fields(void);
size_t superslab_field_used(void);
bool superslab_fields_pay(size_t outside);
bool superslab_fields_may_grow(void);

/* Gives back a run, or its tail: `home` is that of the run's start. `full`: all of its pages were touched. Returns whether another
 * thread was at it meanwhile. */
bool superslab_give_run(struct superslab *home, const void *start, unsigned units, bool full);

/* The same of several. */
bool superslab_give_runs(const struct superslab_run *runs, unsigned count);

static ALWAYS_INLINE void superslab_give(struct superslab *home, const void *start, unsigned units) {
    superslab_give_run(home, start, units, false);
}

/* The same for a run that holds no pages any more and reads as zero. */
void superslab_give_empty(struct superslab *home, void *start, unsigned units);

/* Makes a run of `units`, not of a field, longer by `more` where it stands; false when a neighbour is in use. */
bool superslab_extend(struct superslab *home, void *start, unsigned units, unsigned more);

/* Decommits dirty units, from the youngest superslab down, until at most `keep` bytes are dirty or `calls`
 * pieces of advice were given. Returns the bytes that went home. */
size_t superslab_purge(size_t keep, unsigned calls);

/* Decommits about as many bytes of dirty units that are in no field, in a few calls: where new memory has come in one. */
void superslab_purge_outside(size_t bytes);

/* The same of units in fields: where new memory has come that is no unit. Returns the bytes that went home. */
size_t superslab_purge_fields(size_t bytes);

/* Decommits the units that have been dirty since the last look ended, the youngest superslab's first, with at most `calls`
 * pieces of advice: what nobody has needed meanwhile. A few in a huge page stay, as splitting it costs more than they are.
 * Returns the bytes that went home. */
size_t superslab_purge_rested(unsigned calls);

/* Of a heap that is large by now, or of which what is dense is: makes huge pages of areas that are in use as a whole and wholly in
 * memory, at most `most` of them, as areas of new superslabs are from the beginning; again, when they were split. Each takes
 * half a millisecond. Returns whether there may be more. */
COLD bool superslab_pack(unsigned most);

/* Gives home what nobody was given, but came with what somebody has of a huge page, when a superslab has not grown for a few looks; or
 * `now`. *later: something may go at a later look. Returns the bytes that went home. */
size_t superslab_shed(bool now, bool *later);

/* There is such memory perhaps, or will be: superslabs in huge pages. Atomic, relaxed: a hint. */
extern bool superslab_has_huge;

/* A look ends: what is dirty may rest from here on. */
void superslab_end_look(void);

/* Unmaps the superslabs that are free as a whole: for when address space itself has run out. Returns the
 * bytes. */
size_t superslab_unmap_free(void);

/* More (or, negated, fewer) units of runs wait to be used again: they are taken, but no sign of a dense heap. One
 * caller at a time. */
void superslab_count_waiting(size_t units);

/* Gives the pages of a range home that is in units of `home` and in nobody's use (NULL: in a mapping); what stands there is lost. False
 * when it was not done, because the option or the kernel is against it. */
bool superslab_decommit(struct superslab *home, void *start, size_t bytes);

/* The same for a mapping that somebody uses: it reads as zero then. False where pages go home lazily, too. */
bool superslab_clear(void *start, size_t bytes);

/* How many bytes of units may be dirty so that they and what is in use are at most a sixteenth more than what was ever
 * in use at once. */
size_t superslab_below_peak_bytes(void);

/* Whether the page at `start`, of `home`, is a huge one, or will be when it is touched; as far as is known. */
bool superslab_comes_huge(const struct superslab *home, const void *start);

/* Whether `free` of the bytes of a range are worth that they go home by themselves: half of it, or no huge page is split for them.
 * docs/experiments/whole-huge-pages.md */
bool superslab_lets_go(const struct superslab *home, const void *start, size_t bytes, size_t free);

size_t superslab_dirty_bytes(void);
size_t superslab_staying_bytes(void); /* those of them that the last look left for good; a guess is enough */
size_t superslab_mapped_bytes(void);
size_t superslab_free_bytes(void); /* with what waits */
size_t superslab_used_bytes(void); /* but for what lies in fields; a hint */

/* What this room may do, told by lifecycle once: from how many bytes in use that are dense on, what fills its pages gets huge ones, and
 * from as many, but at least 12 MiB, in use all of a heap of which half is dense (0: from the first, dense or not; SIZE_MAX: never); how to
 * decommit. */
void superslab_configure(size_t huge_from, bool decommit, bool decommit_lazily);

/* Whoever allows no calls but those that memory takes is not asked whether addresses are few. Told by lifecycle once. */
void superslab_ask_nothing(void);

/* A fork is about to be: pages may be another process's, too, from here on. Holds no lock, and writes once only, as the page would be
 * copied each time. */
void superslab_before_fork(void);

/* Holds and releases the room's lock around fork. In the child, before it is released: what another thread was about to give
 * home is free again. */
void superslab_lock(bool take);
void superslab_in_child(void);

#endif
