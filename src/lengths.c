#include "lengths.h"

#include "dense.h"

enum {
    LENGTHS_SEEN_MOST = 64, /* blocks: then both counts are halved */
    LENGTHS_SEEN_LEAST = 8,
    LENGTHS_MIXED_OF = 4,        /* one of so many is of another length: they are mixed */
    LENGTHS_UNIFORM_OF = 8,      /* fewer: they are not any more */
    LENGTHS_BALANCED_OF = 8,     /* what suits neither is to be no more than so many parts of the bytes */
    LENGTHS_EXCHANGED_OF = 128,  /* likewise what goes of one kind for the other */
    LENGTHS_LONGEST_FADES = 512, /* the longest one is forgotten by so many parts a block */
    LENGTHS_TIGHT_STEP = 64,     /* a block that comes when it is tight weighs as much as so many others */
    LENGTHS_TIGHT = 6 * LENGTHS_TIGHT_STEP,
    LENGTHS_TIGHT_MOST = 8 * LENGTHS_TIGHT_STEP
};

#define LENGTHS_BALANCE ((ptrdiff_t)(64 * MIB)) /* further it does not go: that is how soon it turns */
#define LENGTHS_BALANCE_GOOD ((ptrdiff_t)(8 * MIB))
#define LENGTHS_ENOUGH (16 * MIB) /* of live blocks for fields */
#define LENGTHS_ENOUGH_LEAST (8 * MIB)
#define LENGTHS_LONG (8 * MIB)  /* bytes: where some are longer, fields need more */
#define LENGTHS_EASY (12 * MIB) /* bytes: longer ones leave gaps in a field that serve nobody */

SPARSE struct lengths lengths;

/* Two are of one length if the longer one may serve for the other: then what waits does. */
static bool lengths_are_others(size_t bytes, size_t before) {
    return bytes > before + before / 4 || before > bytes + bytes / 4;
}

static void lengths_note_mix(size_t bytes) {
    if (lengths.seen >= LENGTHS_SEEN_MOST) {
        lengths.seen /= 2;
        lengths.others /= 2;
    }
    lengths.seen++;
    lengths.others += lengths_are_others(bytes, lengths.last);
    lengths.last = bytes;
    unsigned of = lengths.mixed ? LENGTHS_UNIFORM_OF : LENGTHS_MIXED_OF;
    lengths.mixed = lengths.seen >= LENGTHS_SEEN_LEAST && lengths.others * of > lengths.seen;
}

static void lengths_note_fit(struct lengths_balance *others, size_t bytes) {
    ptrdiff_t sum = others->sum + (ptrdiff_t)(bytes / LENGTHS_BALANCED_OF);
    others->sum = sum < LENGTHS_BALANCE ? sum : LENGTHS_BALANCE;
    others->few |= sum >= LENGTHS_BALANCE_GOOD;
}

static void lengths_note_unfit(struct lengths_balance *others, size_t bytes) {
    ptrdiff_t less = bytes < (size_t)LENGTHS_BALANCE ? (ptrdiff_t)bytes : LENGTHS_BALANCE,
              sum = others->sum - less;
    others->sum = sum > -LENGTHS_BALANCE ? sum : -LENGTHS_BALANCE;
    others->few &= sum > 0;
}

void lengths_note_growth(size_t bytes) {
    lengths_note_unfit(&lengths.unfit, bytes);
}

void lengths_close(void) {
    lengths.closed = (uint32_t)LENGTHS_CLOSED << 3 * lengths.times;
    lengths.times += lengths.times < LENGTHS_CLOSED_MOST;
}

void lengths_note_exchange(size_t bytes, size_t live_most) {
    if (lengths.closed > 0)
        return;
    lengths.exchanged += bytes;
    if (lengths.exchanged <= 2 * (live_most + superslab_field_used()))
        return;
    lengths.exchanged = 0;
    lengths_close();
}

/* From how much on fields hold little more than what they serve: less where all blocks are much shorter than that, and most of them of another length
 * than the one before, as those of nearly one length leave gaps that none of them fits into; more where some are long. */
static size_t lengths_enough(bool fields) {
    if (lengths.longest > LENGTHS_LONG)
        return 4 * lengths.longest;
    bool many = 8 * lengths.others >= 5 * lengths.seen && lengths.seen >= LENGTHS_SEEN_MOST * 3 / 4;
    size_t enough = 6 * lengths.longest;
    if (!many || !fields || enough > LENGTHS_ENOUGH)
        return LENGTHS_ENOUGH;
    return enough > LENGTHS_ENOUGH_LEAST ? enough : LENGTHS_ENOUGH_LEAST;
}

static void lengths_note_live(struct lengths_live live) {
    if (lengths.enough || live.most + superslab_field_used() < lengths_enough(live.fields) ||
        !superslab_fields_pay(live.most))
        return;
    lengths.enough = true;
    lengths.exchanged = lengths.closed = lengths.times = 0;
}

static bool lengths_are_solid(void) {
    return !lengths.enough && lengths.mixed && lengths.unfit.few && lengths.runs.few && lengths.closed == 0;
}

static void lengths_note_tight(bool over) {
    uint32_t tightness = lengths.tightness;
    bool before = lengths.tight;
    if (over)
        lengths.tightness = tightness < LENGTHS_TIGHT_MOST ? tightness + LENGTHS_TIGHT_STEP : tightness;
    else if (tightness > 0)
        lengths.tightness--;
    lengths.tight = lengths.tightness > (before ? 0 : LENGTHS_TIGHT);
    if (lengths.tight && !before && lengths_are_solid())
        lengths_close();
}

void lengths_note_refusal(void) {
    lengths_note_tight(true);
}

static void lengths_note_tightness(struct lengths_live live) {
    if (live.most > lengths.most) /* more is allowed than when they were tight */
        lengths.tightness = 0;
    lengths.most = live.most;
    lengths_note_tight(live.now + lengths.rounding > live.most / 8 * 9);
}

void lengths_note_run(size_t bytes) {
    if (bytes < (size_t)DENSE_LARGE_LEAST * UNIT_SIZE || bytes > LENGTHS_RUN_MOST ||
        dense_known(dense_kind_of_run(bytes >> UNIT_SHIFT)) != DENSE_YES)
        return;
    lengths_note_mix(bytes);
    lengths_note_unfit(&lengths.runs, bytes);
}

void lengths_note(size_t bytes, bool plain, bool sparse, struct lengths_live live) {
    size_t exchanged = bytes / LENGTHS_EXCHANGED_OF;
    lengths.exchanged -= exchanged < lengths.exchanged ? exchanged : lengths.exchanged;
    lengths.closed -= lengths.closed > 0;
    bool suits = bytes <= LENGTHS_MOST && !sparse;
    if (!suits)
        lengths_note_unfit(&lengths.unfit, bytes);
    else if (plain)
        lengths_note_fit(&lengths.unfit, bytes);
    if (bytes > LENGTHS_EASY)
        lengths_note_unfit(&lengths.hard, bytes);
    else if (plain && suits)
        lengths_note_fit(&lengths.hard, bytes);
    if (bytes <= LENGTHS_MOST && plain) {
        lengths_note_mix(bytes);
        lengths_note_fit(&lengths.runs, bytes);
        lengths.longest -= lengths.longest / LENGTHS_LONGEST_FADES;
        lengths.longest = bytes > lengths.longest ? bytes : lengths.longest;
    }
    lengths_note_tightness(live);
    lengths_note_live(live);
}

bool lengths_suit_fields(void) {
    return lengths.enough && lengths.mixed && lengths.unfit.few && lengths.hard.few && lengths.closed == 0;
}

bool lengths_suit_solid(void) {
    return lengths_are_solid() && !lengths.tight;
}
