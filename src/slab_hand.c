/* Runs of deleted slabs that a heap keeps, and runs that it takes in advance: docs/experiments/slabs-at-hand.md. */
#include "slab_parts.h"

#include "metadata.h"

enum {
    STEP = 4,      /* units more for each wait, or less */
    CALM = 16,     /* times in a row without a wait until there are fewer */
    SURE = 8,      /* units that any hand may be granted ... */
    GRANTED = 128, /* ... and what all hands together get beyond: 8 MiB */
    IN_A_ROW = 2,  /* runs taken without one being given back: more will be wanted */
    AT_ONCE = SLAB_HAND_MOST / 2
};

/* Apart from the room's other state, which lies among what is not zero to begin with: eight bytes more there were a page more in each
 * process, as what follows would end behind the end of one: scripts/startup_cost.sh shows it. */
static struct {
    unsigned
        granted; /* units that all hands together may hold; atomic, relaxed: it is a sum, and guards nothing */
} slab_hands;

/* Units of `most` that others cannot have meanwhile. */
static unsigned slab_hand_granted(unsigned most) {
    return most > SURE ? most - SURE : 0;
}

static void slab_hand_set(struct slab_hand *hand, unsigned most) {
    if (most == hand->most)
        return;
    unsigned before = slab_hand_granted(hand->most), after = slab_hand_granted(most);
    if (__atomic_add_fetch(&slab_hands.granted, after - before, __ATOMIC_RELAXED) <= GRANTED ||
        after <= before)
        hand->most = (uint8_t)most;
    else
        __atomic_fetch_sub(&slab_hands.granted, after - before, __ATOMIC_RELAXED);
}

void slab_hand_learn(struct slab_hand **place, bool waited) {
    if (!*place && waited)
        *place = metadata_new(sizeof(struct slab_hand));
    struct slab_hand *hand = *place;
    if (!hand)
        return;
    hand->calm = waited ? 0 : (uint8_t)(hand->calm + 1);
    if (waited && hand->most < SLAB_HAND_UNITS)
        slab_hand_set(hand, hand->most + STEP);
    if (hand->calm < CALM)
        return;
    hand->calm = 0;
    if (hand->most >= hand->units + STEP)
        slab_hand_set(hand, hand->most - STEP);
}

static void slab_hand_give_records(struct slab *const *records, unsigned count) {
    lock_take(&slabs.lock);
    for (unsigned i = 0; i < count; i++)
        slab_push_record(records[i]);
    lock_release(&slabs.lock);
}

/* Of those that there are, `most` at most. Returns how many. */
static unsigned slab_hand_take_records(unsigned class, struct slab **records, unsigned most) {
    unsigned lines = slab_record_lines(class), count = 0;
    lock_take(&slabs.lock);
    while (count < most && (records[count] = slab_pop_record(lines)) != NULL)
        records[count++]->class = (uint8_t) class;
    lock_release(&slabs.lock);
    return count;
}

/* Returns whether it had to wait for another thread. */
static bool slab_hand_give_oldest(struct slab_hand *hand, unsigned count) {
    struct superslab_run runs[SLAB_HAND_MOST] = {0};
    for (unsigned i = 0; i < count; i++) {
        runs[i] = slab_run(hand->of[i]);
        hand->units = (uint8_t)(hand->units - hand->of[i]->units);
    }
    bool waited = superslab_give_runs(runs, count);
    slab_hand_give_records(hand->of, count);
    hand->count = (uint8_t)(hand->count - count);
    for (unsigned i = 0; i < hand->count; i++)
        hand->of[i] = hand->of[i + count];
    return waited;
}

static void slab_hand_keep(struct slab_hand *hand, struct slab *slab) {
    hand->of[hand->count++] = slab;
    hand->units = (uint8_t)(hand->units + slab->units);
    hand->used = true;
    ASSERT(P5, hand->units <= hand->most && hand->count <= SLAB_HAND_MOST);
}

struct slab *slab_hand_take(struct slab_hand *hand, unsigned class, unsigned units) {
    unsigned lines = slab_record_lines(class);
    for (unsigned i = hand->count; i-- > 0;) {
        struct slab *slab = hand->of[i];
        if (slab->units != units || slab_record_lines(slab->class) != lines)
            continue;
        hand->units = (uint8_t)(hand->units - units);
        hand->used = true;
        for (hand->count--; i < hand->count; i++)
            hand->of[i] = hand->of[i + 1];
        return slab;
    }
    return NULL;
}

/* As many more as the last one as half of the hand has room for. */
static NOINLINE void slab_hand_take_more(struct slab_hand *hand, unsigned class, unsigned units,
                                         enum superslab_use use) {
    struct superslab_run runs[AT_ONCE];
    struct slab *records[AT_ONCE];
    unsigned room = (hand->most - hand->units) / 2u / units, free = SLAB_HAND_MOST - hand->count;
    room = room < free ? room : free;
    unsigned count = slab_hand_take_records(class, records, room < AT_ONCE ? room : AT_ONCE);
    unsigned have = superslab_take_more(runs, count, units, use);
    if (have < count)
        slab_hand_give_records(records + have, count - have);
    while (have-- > 0) { /* the first one is to be used first */
        struct slab *slab = records[have];
        slab_stand(slab, &runs[have]);
        slab->blocks = 1; /* until it is a slab: as slab_run will find it */
        slab_carve_to(slab, runs[have].full);
        slab_hand_keep(hand, slab);
    }
}

void slab_hand_follow(struct slab_hand **place, unsigned class, const struct superslab_run *run,
                      enum superslab_use use) {
    slab_hand_learn(place, run->waited);
    struct slab_hand *hand = *place;
    if (!hand)
        return;
    if (run->zeroed)
        slab_hand_give_all(hand);
    else if (hand->row < IN_A_ROW)
        hand->row++;
    else
        slab_hand_take_more(hand, class, run->units, use);
}

struct superslab_run slab_hand_yield(struct slab_hand *hand, unsigned least, unsigned most,
                                     enum superslab_use use) {
    if (hand->count == 0)
        return (struct superslab_run){0};
    slab_hand_give_all(hand);
    return superslab_take_some(least, most, use);
}

static bool slab_hand_has_room(const struct slab_hand *hand, const struct slab *slab) {
    return hand->units + slab->units <= hand->most && hand->count < SLAB_HAND_MOST;
}

bool slab_hand_put(struct slab_hand **place, struct slab *slab) {
    struct slab_hand *hand = *place;
    hand->row = 0;
    if (limit_near())
        slab_hand_give_all(hand);
    if (hand->count > 0 && !slab_hand_has_room(hand, slab))
        slab_hand_learn(place, slab_hand_give_oldest(hand, (hand->count + 1u) / 2));
    if (!slab_hand_has_room(hand, slab))
        return false;
    slab->untouched = false;
    slab_hand_keep(hand, slab);
    return true;
}

void slab_hand_give_all(struct slab_hand *hand) {
    if (hand->count > 0)
        slab_hand_give_oldest(hand, hand->count);
    slab_hand_set(hand, 0);
    hand->calm = 0;
}

bool slab_hand_rest(struct slab_hand *hand, bool now) {
    if (!hand)
        return false;
    if (now || !hand->used)
        slab_hand_give_all(hand);
    hand->used = false;
    return hand->most > 0;
}
