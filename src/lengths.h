/* lengths: what lengths large blocks have of late, and whether those that are longer than a run lie where that does not matter.
 *
 * Owns what is known of that. Blocks of one length serve each other where they wait. Where each is of another length what waits hardly ever fits; then
 * many of them lie in fields, where neighbours that are free are one, and few are solid: mappings of whole huge pages, of which each serves what is shorter.
 *
 *     of many lengths   live at once            hold, if solid                             lie in
 *     no                                                                                   mappings of their lengths
 *     yes               enough (16 MiB, or four times the longest, if that is long)        fields
 *     yes               enough, but many of more than 12 MiB                               mappings of their lengths
 *     yes               less                    at most nine eighths of what was live      solid mappings
 *     yes               less                    more                                       mappings of their lengths
 *
 * P1  blocks of one length, or beside many that suit neither, lie in mappings of their lengths
 * P2  where fields and mappings drive each other out, or those that are solid would hold too much, that is over for LENGTHS_CLOSED blocks, and
 *     for eight times as many the next time
 *
 * Called by large alone, under its lock. Every call is a handful of steps. docs/experiments/fields.md, solid-mappings.md
 */
#ifndef HAKMEM_LENGTHS_H
#define HAKMEM_LENGTHS_H

#include "pages.h"
#include "superslab.h"

#define LENGTHS_RUN_MOST ((size_t)SUPERSLAB_RUN_LARGEST * UNIT_SIZE)
#define LENGTHS_MOST (16 * MIB) /* bytes: what is longer suits neither */
enum { LENGTHS_CLOSED = 1024, LENGTHS_CLOSED_MOST = 7 /* times */ };

/* A part of the bytes of what comes, without those of some others; few: it is good. */
struct lengths_balance {
    ptrdiff_t sum;
    bool few;
};

struct lengths {
    uint32_t seen, others; /* blocks, and of these, how many are of another length than the one before */
    bool mixed;            /* that are many */
    bool enough;           /* was live at once for fields */
    bool tight;            /* solid ones would hold too much, ... */
    uint32_t tightness;    /* ... as it was of late */
    size_t most;           /* that was live at once by then */
    uint32_t closed;       /* blocks that come until it is open again, ... */
    uint32_t times;        /* ... and how often that was */
    size_t last, longest;  /* bytes of the last one, and the most of late */
    size_t rounding;       /* bytes that live ones would hold more if they were solid */
    size_t exchanged;      /* bytes that went of fields for mappings, or of mappings for fields */
    /* What suits neither, what leaves gaps in fields, and what is too short to be solid. */
    struct lengths_balance unfit, hard, runs;
};

extern struct lengths lengths;

/* Bytes of live large blocks outside of fields, and the most that there ever were; and whether there may be fields at all. */
struct lengths_live {
    size_t now, most;
    bool fields;
};

/* A run has come that may lie in a field, and was not at hand. */
void lengths_note_run(size_t bytes);

/* A block that is longer than a run has come. `plain`: neither aligned nor growing; `sparse`: such ones are not written whole. */
void lengths_note(size_t bytes, bool plain, bool sparse, struct lengths_live live);

/* One that is counted grows: in a field it is copied, and a solid mapping is none any more. */
void lengths_note_growth(size_t bytes);

/* So many bytes went of a field or a mapping since the other brought new memory. */
void lengths_note_exchange(size_t bytes, size_t live_most);

/* There was no room for one that was to be solid. */
void lengths_note_refusal(void);

/* What is open now is closed: also where the kernel would not have what it takes. */
void lengths_close(void);

static inline bool lengths_is_counted(size_t bytes) {
    return bytes > LENGTHS_RUN_MOST && bytes <= LENGTHS_MOST;
}

/* What such a mapping would have more if it were solid: it is live, or is no more. */
static inline void lengths_count(size_t bytes, bool ends) {
    size_t more = align_up(bytes, (size_t)PAGES_AREA) - bytes;
    lengths.rounding += ends ? -more : more;
}

/* Whether such a block is to lie in a field, or to be solid, if it is written whole. */
bool lengths_suit_fields(void);
bool lengths_suit_solid(void);

#endif
