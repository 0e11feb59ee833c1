/* What is asked for that is longer than a run, and whether it is to lie in fields. docs/experiments/fields.md */
#include "large_parts.h"

enum {
    LARGE_SEEN_MOST = 64, /* blocks: then both counts are halved */
    LARGE_SEEN_LEAST = 8,
    LARGE_MIXED_OF = 4,       /* one of so many is of another length: they are mixed */
    LARGE_UNIFORM_OF = 8,     /* fewer: they are not any more */
    LARGE_BALANCED_OF = 8,    /* what is not for fields is to be no more than so many parts of the bytes */
    LARGE_EXCHANGED_OF = 128, /* likewise what goes of one kind for the other */
    LARGE_CLOSED = 1024,      /* blocks; eight times as many the next time */
    LARGE_CLOSED_MOST = 7     /* times */
};

#define LARGE_BALANCE ((ptrdiff_t)(64 * MIB)) /* further it does not go: that is how soon it turns */
#define LARGE_BALANCE_GOOD ((ptrdiff_t)(8 * MIB))
#define LARGE_LONGER_FROM (16 * MIB) /* of live blocks */

SPARSE struct large_longer large_longer;

/* Two are of one length if the longer one may serve for the other: then what waits does. */
static bool large_is_other(size_t bytes, size_t before) {
    return bytes > before + before / 4 || before > bytes + bytes / 4;
}

static void large_note_mix(bool other) {
    if (large_longer.seen >= LARGE_SEEN_MOST) {
        large_longer.seen /= 2;
        large_longer.others /= 2;
    }
    large_longer.seen++;
    large_longer.others += other;
    unsigned of = large_longer.mixed ? LARGE_UNIFORM_OF : LARGE_MIXED_OF;
    large_longer.mixed =
        large_longer.seen >= LARGE_SEEN_LEAST && large_longer.others * of > large_longer.seen;
}

static void large_note_fit(size_t bytes) {
    ptrdiff_t balance = large_longer.balance + (ptrdiff_t)(bytes / LARGE_BALANCED_OF);
    large_longer.balance = balance < LARGE_BALANCE ? balance : LARGE_BALANCE;
    large_longer.few_others |= balance >= LARGE_BALANCE_GOOD;
}

static void large_note_unfit(size_t bytes) {
    ptrdiff_t less = bytes < (size_t)LARGE_BALANCE ? (ptrdiff_t)bytes : LARGE_BALANCE,
              balance = large_longer.balance - less;
    large_longer.balance = balance > -LARGE_BALANCE ? balance : -LARGE_BALANCE;
    large_longer.few_others &= balance > 0;
}

void large_note_growth(size_t bytes) {
    favour_take(&larges.lock);
    large_note_unfit(bytes);
    favour_release(&larges.lock);
}

/* What is live, and was. */
static size_t large_longer_live(void) {
    return larges.live_peak + superslab_field_used();
}

void large_note_exchange(size_t bytes) {
    if (!large_longer.enough || large_longer.closed > 0)
        return;
    large_longer.exchanged += bytes;
    if (large_longer.exchanged <= 2 * large_longer_live())
        return;
    large_longer.exchanged = 0;
    large_longer.closed = LARGE_CLOSED << 3 * large_longer.times;
    large_longer.times += large_longer.times < LARGE_CLOSED_MOST;
}

void large_note_longer(size_t bytes, bool plain) {
    favour_take(&larges.lock);
    size_t exchanged = bytes / LARGE_EXCHANGED_OF;
    large_longer.exchanged -= exchanged < large_longer.exchanged ? exchanged : large_longer.exchanged;
    large_longer.closed -= large_longer.closed > 0;
    if (bytes > LARGE_FIELD_MOST || huge_known(bytes) == HUGE_SPARSE)
        large_note_unfit(bytes);
    else if (plain)
        large_note_fit(bytes);
    if (bytes <= LARGE_FIELD_MOST && plain) {
        large_note_mix(large_is_other(bytes, large_longer.last));
        large_longer.last = bytes;
    }
    large_longer.enough |= large_longer_live() >= LARGE_LONGER_FROM && superslab_fields_pay(larges.live_peak);
    favour_release(&larges.lock);
}

bool large_longer_suits_field(size_t bytes) {
    favour_take(&larges.lock);
    bool open = large_longer.enough && large_longer.mixed && large_longer.few_others &&
                large_longer.closed == 0 && larges.keeps_longer && larges.cache_limit > 0;
    favour_release(&larges.lock);
    return open && bytes <= LARGE_FIELD_MOST && huge_suits(bytes);
}

void large_keep_longer(bool keep) {
    larges.keeps_longer = keep;
}
