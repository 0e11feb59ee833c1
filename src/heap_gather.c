/* Where a refill comes from. Blocks are stored downwards from `end`, see slab_pop.
 *
 * What one call does at most. A flush puts back one magazine, or what is marked, and SWEEPS_MOST others. A refill asks for one magazine, and gives up
 *     - 16 packs (so does a large block from new memory, and 16 of each of four classes for the next one); or where waves of many end 192 for each unit,
 *       768 at most, with the magazines of classes that have none left, and 32 of each heap that a fork left
 *     - what is at hand of four classes, and of eight that rest, with 16 packs of these
 *     - the runs of one large_yield
 *     - the pages of eight slabs that are nearly free, of 64 at which it looks
 */
#include "heap_parts.h"

#include "os.h"

#include <limits.h>
#include <string.h>

enum {
    IDLE_LOOKED_AT = 64,      /* idle heaps asked for a slab in one call */
    UNPACK_FOR_ADOPTION = 32, /* packs that an idle heap gives up at once */
    FILLS_FROM = 64 << 10,    /* bytes of a class that are out: the next slab will be filled, too */
    FILLS_FROM_OF_MANY =
        256 << 10, /* ... where each of several heaps may end with slabs that are not, or blocks are long */
    POPULATED_FROM = 256 << 10, /* ... and its pages are worth a call, if they come one by one */
    EMPTIED_AT_ONCE = 4,        /* classes, ... */
    EMPTIED_FROM = 4 << 20, /* ... where so many bytes are in use: a small process has little to give back */
    EMPTIED_LEAST = 256 << 10, /* bytes that a class has at hand, for a large block */
    CARVED_BY_HOSTS = 4,       /* blocks at once: most of what a host needs are guests to come */
};

static bool heap_has_free(const struct heap_class *class) {
    return class->bin[0] || class->bin[1] || class->bin[2] || class->bin[3];
}

static unsigned heap_gather_free(struct heap_class *class, void **end, unsigned count) {
    unsigned have = 0;
    for (unsigned bin = 0; bin < HEAP_BINS; bin++) {
        while (have < count && class->bin[bin]) {
            struct slab *slab = class->bin[bin];
            ASSERT(P2, slab->bin == bin && slab->free > 0);
            if (slab == class->empty)
                class->empty = NULL;
            have += slab_pop(slab, end - have, count - have, false);
            heap_file(class, slab);
        }
    }
    return have;
}

/* What others have freed of the class, one slab after the other and no more than is wanted: a slab that waits goes on
 * filling, and costs its senders nothing. docs/experiments/batched-remote-frees.md */
static unsigned heap_gather_freed(struct heap *heap, unsigned class, void **end, unsigned count) {
    unsigned have = 0;
    for (unsigned words = 0;
         have < count && words < HEAP_COLLECT_WORDS && remote_waits_in(&heap->inbox, class);) {
        words += heap_collect_one(heap, class);
        have += heap_gather_free(&heap->class[class], end - have, count - have);
    }
    return have;
}

static void heap_hand_over(struct heap_class *theirs, struct heap_class *ours, const struct slab *slab) {
    unsigned out = (unsigned)slab->carved - slab->free;
    theirs->out -= out;
    ours->out += out;
}

/* Takes a slab with free blocks of this class from a heap that nobody uses, when we have none to carve. `packs`: at most so many of
 * them are given up for it, and it comes only when none is left. Heaps' lock held. */
static bool heap_adopt_from(struct heap *heap, struct heap *idle, unsigned class, unsigned packs) {
    struct heap_class *theirs = &idle->class[class], *ours = &heap->class[class];
    if (idle->inherited && ours->units == 0)
        return false; /* a first slab is fresh: what the parent shares is only used when this one is full */
    if (idle->inherited && theirs->array) {
        heap_drain_class(idle, class);
        heap_send(idle);
        if (!heap_unpack_class(idle, class, packs))
            return false;
    }
    heap_collect_class(idle, class);
    for (unsigned bin = 0; bin < HEAP_BINS; bin++) {
        struct slab *slab = theirs->bin[bin];
        if (!slab)
            continue;
        heap_detach(theirs, slab);
        heap_hand_over(theirs, ours, slab);
        slab_change_owner(slab, &heap->inbox, heap->tag | class);
        heap_file(ours, slab);
        if (slab_fresh(slab) > 0)
            ours->carving = slab;
        return true;
    }
    struct slab *fresh = theirs->carving;
    if (!fresh || slab_fresh(fresh) == 0)
        return false;
    heap_detach(theirs, fresh);
    heap_hand_over(theirs, ours, fresh);
    slab_change_owner(fresh, &heap->inbox, heap->tag | class);
    ours->carving = fresh;
    return true;
}

static bool heap_adopt(struct heap *heap, unsigned class, unsigned packs) {
    bool adopted = false;
    if (__atomic_load_n(&heaps.idle_count, __ATOMIC_RELAXED) == 0)
        return false; /* a hint */
    lock_take(&heaps.lock);
    struct heap *idle = heaps.idle;
    for (unsigned looked = 0; idle && !adopted && looked < IDLE_LOOKED_AT; looked++, idle = idle->next_idle) {
        visit_enter(&idle->visit);
        adopted = heap_adopt_from(heap, idle, class, packs);
        visit_leave(&idle->visit);
    }
    lock_release(&heaps.lock);
    return adopted;
}

/* How many units the next slab takes. The first is small, for two blocks at least: of most classes a thread needs no
 * other. docs/experiments/peak-rss.md */
static unsigned heap_slab_units(struct heap_class *mine, unsigned class) {
    unsigned least = slab_units_least(class), units = mine->units > least ? mine->units : least;
    mine->units = sizeclass_table[class].units;
    return units;
}

/* Bytes that are out of a class whose blocks touch each page of a slab; of any other, 0. */
static size_t heap_filled_bytes(const struct heap_class *mine, unsigned class) {
    size_t size = sizeclass_table[class].size;
    return size <= SLAB_SURE_LARGEST ? size * mine->out : 0;
}

/* Whether all blocks of the class's next slab will be handed out soon, as so many are. */
static bool heap_will_fill(const struct heap_class *mine, unsigned class) {
    size_t size = sizeclass_table[class].size;
    bool many = __atomic_load_n(&heaps.count, __ATOMIC_RELAXED) > 1; /* a hint */
    return size * mine->out >= (many || size > SLAB_SURE_LARGEST ? FILLS_FROM_OF_MANY : FILLS_FROM);
}

/* The pages of a slab that will be filled come with one call instead of a fault each. Only where nothing was in memory, and where a
 * touch does not bring all of them anyway. docs/experiments/populate.md */
static NOINLINE void heap_populate(const struct slab *slab) {
    if (heaps.populate && slab->untouched && !superslab_comes_huge(slab->home, slab_unit(slab)) &&
        !limit_near())
        os_advise(slab_unit(slab), (size_t)slab->units << UNIT_SHIFT, OS_POPULATE);
}

/* Of the slab's blocks `before` were carved until now. In whole pages. */
static void heap_count_touched(struct heap *heap, const struct slab *slab, unsigned before) {
    size_t size = sizeclass_table[slab->class].size, page = os_page_size();
    uintptr_t start = (uintptr_t)slab->start,
              from = before ? start + before * size : (uintptr_t)slab_unit(slab);
    heap->touched += align_up(start + slab->carved * size, page) - align_up(from, page);
    if (heap->touched < HEAP_TOUCHED_STEP)
        return;
    __atomic_fetch_add(&heaps.touched, heap->touched, __ATOMIC_RELAXED);
    heap->touched = 0;
}

size_t heap_touched_bytes(void) {
    return __atomic_load_n(&heaps.touched, __ATOMIC_RELAXED);
}

size_t heap_fallen_bytes(struct heap *heap) {
    size_t out = 0;
    visit_enter(&heap->visit);
    for (unsigned class = 0; class < SIZECLASS_COUNT; class ++)
        out += heap->class[class].out * (size_t)sizeclass_table[class].size;
    out -= heap->packs.bytes < out ? heap->packs.bytes : out; /* guests in packs are others' */
    visit_leave(&heap->visit);
    heap->most_out = out > heap->most_out ? out : heap->most_out;
    return heap->most_out - out;
}

static bool heap_can_carve(struct heap_class *mine) {
    if (mine->carving && slab_fresh(mine->carving) == 0)
        mine->carving = NULL;
    return mine->carving != NULL;
}

/* So many units of new memory would come: some of what is put by goes back to its slabs. */
static void heap_give_up_packs(struct heap *heap, unsigned units) {
    if (heap->packs.count == 0)
        return;
    if (UNLIKELY(heap->waves != NULL))
        heap_end_waves(heap, units);
    else
        heap_unpack(heap, HEAP_UNPACK);
}

void heap_yield(struct heap *heap, size_t bytes) {
    if (superslab_dirty_bytes() >= bytes)
        return;
    visit_enter(&heap->visit);
    if (heap->packs.bytes >= (bytes > LARGE_YIELD_LEAST ? bytes : LARGE_YIELD_LEAST))
        heap_give_up_packs(heap, 1);
    visit_leave(&heap->visit);
}

/* Three quarters of its blocks: the whole of some slabs, then. What comes in waves will be needed as a whole. A class that has little at hand is
 * not asked again until its magazine was full. */
static bool heap_has_most_at_hand(struct heap *heap, unsigned class) {
    const struct heap_class *mine = &heap->class[class];
    unsigned packs = heap->packs.of[class].count;
    uint32_t packed = packs * (mine->largest < PACK_BLOCKS ? mine->largest - 1u : PACK_BLOCKS),
             at_hand = heap_held(heap, class) + mine->spare_count + packed;
    if (at_hand * sizeclass_table[class].size < EMPTIED_LEAST) {
        heap->full[class / 64] &= ~(1ULL << class % 64);
        return false;
    }
    return 4 * at_hand >= 3 * mine->out && !(heap->waves && heap_has_waves(heap, class));
}

static bool heap_may_be_emptied(const struct heap *heap) {
    return superslab_used_bytes() >= EMPTIED_FROM && !heap_hosts(heap);
}

/* Takes the next one out of `classes`, from *class on by turns. False: there is none. */
static bool heap_next_of(uint64_t *classes, unsigned *class) {
    for (unsigned looked = 0; looked <= SIZECLASS_SET_WORDS; looked++) {
        uint64_t word = classes[*class / 64] >> *class % 64;
        if (word) {
            *class += bits_lowest(word);
            classes[*class / 64] ^= 1ULL << *class % 64;
            return true;
        }
        *class = (*class | 63) + 1 < 64 * SIZECLASS_SET_WORDS ? (*class | 63) + 1 : 0;
    }
    return false;
}

/* Classes that have a slab three quarters of which are free, as those have which all arrays of a program have outgrown, or for a large block, where
 * `growing` is no class, those that have most at hand, give back what is at hand, by turns, until `enough` bytes are free and in memory.
 * docs/experiments/outgrown-classes.md */
static NOINLINE void heap_empty_slabs(struct heap *heap, unsigned growing, size_t enough) {
    bool for_large = growing == SIZECLASS_COUNT;
    uint64_t classes[SIZECLASS_SET_WORDS];
    memcpy(classes, for_large ? heap->full : heap->hollow, sizeof classes);
    unsigned class = heap->emptied + 1u, emptied = 0;
    while (emptied < EMPTIED_AT_ONCE && superslab_dirty_bytes() < enough && heap_next_of(classes, &class)) {
        struct heap_class *mine = &heap->class[class];
        if (for_large ? !heap_has_most_at_hand(heap, class) : class == growing || !mine->array)
            continue;
        emptied++;
        heap_empty_class(heap, class, for_large ? HEAP_UNPACK : 0);
        heap->emptied = (uint8_t) class;
    }
}

void heap_yield_next(struct heap *heap, size_t bytes) {
    if (!heap_may_be_emptied(heap))
        return;
    visit_enter(&heap->visit);
    heap_empty_slabs(heap, SIZECLASS_COUNT, SIZE_MAX);
    heap_rest(heap, bytes);
    if (heap_may_be_hollow(heap))
        heap_hollow_out(heap, EMPTIED_LEAST);
    visit_leave(&heap->visit);
}

/* So many units of memory that nobody has touched would come, or have: what is put by and what waits serves instead, or the next time, until `enough`
 * bytes are free and in memory. docs/experiments/phases-of-other-lengths.md */
static void heap_yield_for_slab(struct heap *heap, unsigned class, unsigned units, size_t enough) {
    if (slab_is_at_hand(heap->slabs))
        return;
    heap_give_up_packs(heap, units);
    bool frees_large = heap->large_frees > 0; /* else it is others' affair, if there are any */
    if (frees_large && superslab_dirty_bytes() < enough)
        large_yield(LARGE_YIELD * ((size_t)units << UNIT_SHIFT));
    if (heap_may_be_emptied(heap)) {
        heap_empty_slabs(heap, class, enough);
        heap_rest(heap, (size_t)units << UNIT_SHIFT);
    }
}

/* A new slab is carved from now on. False: no memory. */
static COLD bool heap_grow(struct heap *heap, unsigned class) {
    struct heap_class *mine = &heap->class[class];
    unsigned units = heap_slab_units(mine, class);
    size_t bytes = (size_t)units << UNIT_SHIFT;
    bool in_memory = superslab_dirty_bytes() >= bytes; /* but perhaps in pieces that are too short */
    if (!in_memory)
        heap_yield_for_slab(heap, class, units, bytes);
    struct slab *slab =
        slab_new(&heap->slabs, class, units, heap_will_fill(mine, class), &heap->inbox, heap->tag | class);
    if (!slab)
        return false;
    heap->shallow = false;
    heap_look_for_guests(heap);
    slab_set_bin(slab, HEAP_NO_BIN, 0, 0);
    mine->carving = slab;
    if (heap_filled_bytes(mine, class) >= POPULATED_FROM)
        heap_populate(slab);
    if (in_memory && slab->untouched)
        heap_yield_for_slab(heap, class, units, SIZE_MAX);
    if (slab->untouched && heap_may_be_hollow(heap))
        heap_hollow_out(heap, bytes);
    return true;
}

static unsigned heap_carve(struct heap *heap, unsigned class, void **end, unsigned count) {
    struct heap_class *mine = &heap->class[class];
    if (!heap_can_carve(mine)) {
        heap_send(heap);    /* before more memory is taken, what is held back for others goes to them */
        heap_collect(heap); /* and slabs that became empty go home; one that was lent may be back */
        if (!heap_can_carve(mine) && !heap_grow(heap, class))
            return 0;
    }
    if (heap_hosts(heap) && count > CARVED_BY_HOSTS)
        count = CARVED_BY_HOSTS;
    struct slab *slab = mine->carving;
    unsigned before = slab->carved;
    bool first = mine->out == 0 && before == 0;
    unsigned have = first ? slab_pop_apart(slab, end, count) : slab_pop(slab, end, count, true);
    heap_count_touched(heap, slab, before);
    heap_file(mine, slab);
    heap->carved += have;
    return have;
}

static unsigned heap_gather_inside(struct heap *heap, unsigned class, void **end, unsigned count) {
    struct heap_class *mine = &heap->class[class];
    if (UNLIKELY(heap_hosts(heap)))
        heap_look_as_host(heap);
    unsigned have = heap_has_free(mine) ? heap_gather_free(mine, end, count) : 0;
    if (have > 0)
        return have;
    have = heap_gather_freed(heap, class, end, count);
    if (have > 0) {
        /* No run of the thread's own: what comes from elsewhere wants no deep magazine. */
        heap->refilled = SIZECLASS_COUNT;
        return have;
    }
    if (!heap_can_carve(mine) && heap_adopt(heap, class, UNPACK_FOR_ADOPTION))
        have = heap_gather_free(mine, end, count);
    if (have == 0)
        have = heap_carve(heap, class, end, count);
    /* No memory: heap_carve has asked for a first slab, so that now what was inherited will do. */
    if (have > 0 || !heap_adopt(heap, class, UINT_MAX))
        return have;
    have = heap_gather_free(mine, end, count);
    return have > 0 ? have : heap_carve(heap, class, end, count);
}

unsigned heap_gather(struct heap *heap, unsigned class, void **end, unsigned count) {
    visit_enter(&heap->visit);
    unsigned have = heap_gather_inside(heap, class, end, count);
    heap->class[class].out += have;
    if (UNLIKELY(heap->waves != NULL))
        heap_note_out(heap, class);
    heap_count_work(heap);
    visit_leave(&heap->visit);
    return have;
}
