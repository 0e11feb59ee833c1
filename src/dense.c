#include "dense.h"

#include "os.h"
#include "pages.h"

enum {
    WHOLE = 256,
    DENSE = WHOLE / 4 * 3,
    AVERAGED = 4,       /* looks */
    AVERAGED_RUNS = 16, /* ... where each that is freed tells: some that are not do not turn it to and fro */
    FIRST_LOOKS = 8,    /* at the first one of a kind */
    LOOK = 1 << 16      /* of a share: so many times LOOK is it told from, none if it is a guess */
};

static struct {
    bool refused;       /* told once, before there are threads */
    uint32_t any_large; /* as a kind's share, of the large ones together */
    struct {
        size_t units;
        uint32_t
            share; /* of what was looked at, the part that was in memory, in WHOLE and one; 0: nothing was */
    } kinds[DENSE_KINDS];
} dense = {.kinds = {[DENSE_SURELY] = {.share = WHOLE + 1}}};

/* What a small process has no use for. */
SPARSE static struct {
    uint32_t began;
    uint32_t begun;    /* of a longer kind, while nothing is known of it */
    uintptr_t first;   /* ... and the first of these, as in `watched` */
    uintptr_t watched; /* the start of what is to be looked at, and in its lowest bits how many units */
} dense_watches[DENSE_KINDS];

void dense_count(enum dense_kind kind, size_t units) {
    __atomic_fetch_add(&dense.kinds[kind].units, units, __ATOMIC_RELAXED);
}

/* Over all looks until they are `most`. */
static void dense_average_share(uint32_t *place, uint32_t most, uint32_t now) {
    uint32_t told = __atomic_load_n(place, __ATOMIC_RELAXED), share = told % LOOK,
             looks = told / LOOK < most ? told / LOOK + 1 : most;
    share = 1 + ((share - 1) * (looks - 1) + now) / looks; /* the first look: nothing of what was before it */
    __atomic_store_n(place, looks * LOOK + share, __ATOMIC_RELAXED);
}

static NOINLINE void dense_average(enum dense_kind kind, uint32_t now) {
    dense_average_share(&dense.kinds[kind].share, kind >= DENSE_RUNS ? AVERAGED_RUNS : AVERAGED, now);
    if (kind >= DENSE_LARGE)
        dense_average_share(&dense.any_large, AVERAGED_RUNS, now);
}

static uint32_t dense_look(uintptr_t watched) {
    enum pages_density density;
    size_t bytes = watched % UNIT_SIZE * UNIT_SIZE;
    return (uint32_t)(pages_resident((const void *)align_down(watched, UNIT_SIZE), bytes, &density) /
                      (bytes / WHOLE));
}

/* What nothing was told of, and will be. */
static void dense_guess_of(enum dense_kind kind, uint32_t share) {
    __atomic_store_n(&dense.kinds[kind].share, share + 1, __ATOMIC_RELAXED);
}

/* As far as can be known. */
static void dense_guess(void) {
    dense_guess_of(DENSE_SHORT, WHOLE);
    for (enum dense_kind kind = DENSE_LONG; kind < DENSE_KINDS; kind++)
        dense_guess_of(kind, 0);
}

/* The large ones are watched as one kind. */
static enum dense_kind dense_kind_watched(enum dense_kind kind) {
    return kind < DENSE_LARGE ? kind : DENSE_LARGE;
}

static enum dense_kind dense_kind_looked_at(enum dense_kind watched, uintptr_t start_and_units) {
    return watched < DENSE_LARGE ? watched : dense_kind_of_run(start_and_units % UNIT_SIZE);
}

/* Eight of the longer ones are most of a small heap, so the first of a kind is looked at whenever the next one begins. That it is not written whole
 * tells nothing yet: it may be on the way. */
static void dense_look_at_first(enum dense_kind kind, uintptr_t begins) {
    uint32_t begun = __atomic_fetch_add(&dense_watches[kind].begun, 1, __ATOMIC_RELAXED);
    uintptr_t first = __atomic_load_n(&dense_watches[kind].first, __ATOMIC_RELAXED);
    if (begun == 0)
        __atomic_store_n(&dense_watches[kind].first, begins, __ATOMIC_RELAXED);
    if (first == 0 || begun > FIRST_LOOKS || os_is_filtered())
        return;
    uint32_t share = dense_look(first);
    if (share >= DENSE)
        dense_average(kind, share);
}

void dense_watch(enum dense_kind kind, void *start, size_t units, bool probe) {
    if (dense.refused)
        return;
    uintptr_t begins = (uintptr_t)start + units;
    if (kind >= DENSE_LARGER && __atomic_load_n(&dense.kinds[kind].share, __ATOMIC_RELAXED) == 0)
        dense_look_at_first(kind, begins);
    kind = dense_kind_watched(kind);
    uint32_t began = __atomic_fetch_add(&dense_watches[kind].began, 1, __ATOMIC_RELAXED);
    if (began % DENSE_WATCHES != 0 && !probe)
        return;
    if (os_is_filtered()) { /* a filter may kill for the call that asks */
        dense_guess();
        return;
    }
    uintptr_t before = __atomic_exchange_n(&dense_watches[kind].watched, begins, __ATOMIC_RELAXED);
    if (before != 0)
        dense_average(dense_kind_looked_at(kind, before), dense_look(before));
}

void dense_tell(enum dense_kind kind, size_t resident, size_t bytes) {
    if (!dense.refused)
        dense_average(kind, (uint32_t)(resident / (bytes / WHOLE)));
}

/* Of the large ones, what they tell together where one of them has told nothing; 0: nothing was told. */
static ALWAYS_INLINE uint32_t dense_told(enum dense_kind kind) {
    uint32_t told = __atomic_load_n(&dense.kinds[kind].share, __ATOMIC_RELAXED);
    if (told == 0 && kind >= DENSE_LARGE)
        told = __atomic_load_n(&dense.any_large, __ATOMIC_RELAXED);
    return told;
}

static ALWAYS_INLINE enum dense_known dense_known_of(uint32_t told) {
    return told == 0 ? DENSE_UNKNOWN : told % LOOK > DENSE ? DENSE_YES : DENSE_NO;
}

enum dense_known dense_known(enum dense_kind kind) {
    return dense_known_of(dense_told(kind));
}

bool dense_is_sparse(enum dense_kind kind) {
    uint32_t told = dense_told(kind);
    return told == 0 || (told >= LOOK && dense_known_of(told) == DENSE_NO);
}

static size_t dense_units_of(enum dense_kind kind) {
    return __atomic_load_n(&dense.kinds[kind].units, __ATOMIC_RELAXED);
}

size_t dense_units(bool hoped) {
    size_t units = 0;
    for (enum dense_kind kind = DENSE_SURELY; kind < DENSE_KINDS; kind++) {
        enum dense_known known = dense_known_of(dense_told(kind));
        if (known == DENSE_YES || (hoped && known == DENSE_UNKNOWN))
            units += dense_units_of(kind);
    }
    return units;
}

size_t dense_large_units(void) {
    return dense_units_of(DENSE_LARGE) + dense_units_of(DENSE_LARGER) + dense_units_of(DENSE_LARGEST);
}

void dense_refuse_samples(void) {
    dense.refused = true;
    dense_guess();
}
