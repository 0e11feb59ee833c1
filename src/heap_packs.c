/* What a heap puts by, takes up again, or gives back to its slabs. docs/experiments/packs.md */
#include "heap_parts.h"

#include <string.h>

enum {
    PACKS_A_VISIT = 64, /* given up at once on behalf of a thread that may wait for it */
    PACKS_AT_ONCE = 3   /* come to a deep magazine, or go: room for one more is left, or one more stays */
};

/* ---- by the heap's thread ---- */

static struct pack *heap_new_pack(struct heap *heap, unsigned class, bool deep) {
    return pack_new(&heap->packs, class, deep, heap_in_use(), heap->class[class].out);
}

static bool heap_may_put_waves_by(const struct heap *heap, unsigned class) {
    return heap->waves && heap_has_waves(heap, class) &&
           pack_has_room(class, heap_in_use(), heap->class[class].out);
}

/* For what a deep magazine puts by, a deep pack or not: of a class that comes in waves all may be. Whether it does is noted once it might have
 * mattered. */
static NOINLINE struct pack *heap_new_pack_of_many(struct heap *heap, unsigned class, bool deep) {
    unsigned out = heap_may_put_waves_by(heap, class) ? 0 : heap->class[class].out;
    struct pack *pack = pack_new(&heap->packs, class, deep, heap_in_use(), out);
    if (!pack && !heap->waves)
        heap_note_waves(heap);
    return pack;
}

static void heap_put_pack(struct heap *heap, unsigned class, struct pack *pack, unsigned count) {
    pack_put(&heap->packs, class, pack, count);
    heap->flushed += count * (uint64_t)sizeclass_table[class].size; /* a janitor may want to know */
    heap_count_work(heap);
}

/* The array of a magazine becomes a pack, and the pack its array, so that no pointer is copied. */
static bool heap_may_exchange(const struct heap_class *mine) {
    return mine->largest == HEAP_ARRAY_WORDS - 1;
}

static ALWAYS_INLINE unsigned heap_array_words(bool deep) {
    return deep ? HEAP_DEEP_WORDS : HEAP_ARRAY_WORDS;
}

/* Both are as long. */
static ALWAYS_INLINE struct pack *heap_exchange(struct heap *heap, unsigned class, struct pack *pack) {
    struct heap_class *mine = &heap->class[class];
    struct pack *old = (struct pack *)mine->array;
    mine->array = (void **)pack;
    heap_rewind(heap, class, 0);
    return old;
}

bool heap_put_spare_by(struct heap *heap, unsigned class) {
    struct heap_class *mine = &heap->class[class];
    visit_enter(&heap->visit);
    struct pack *empty = heap_new_pack(heap, class, false);
    if (empty) {
        heap_put_pack(heap, class, mine->spare, mine->spare_count);
        mine->spare = empty;
        mine->spare_count = 0;
    }
    visit_leave(&heap->visit);
    return empty != NULL;
}

/* Inside `visit`, as the next. All but the newest block. */
static ALWAYS_INLINE bool heap_put_array_by(struct heap *heap, unsigned class, bool deep) {
    struct pack *pack = deep ? heap_new_pack_of_many(heap, class, deep) : heap_new_pack(heap, class, deep);
    if (!pack)
        return false;
    unsigned last = heap_array_words(deep) - 1;
    void *newest = heap->class[class].array[last];
    heap_put_pack(heap, class, heap_exchange(heap, class, pack), last - 1);
    heap->top[class] += sizeof(void *);
    *(void **)heap->top[class] = newest;
    return true;
}

/* The oldest of a deep one, as far as packs may be had; a swing by a pack more or less comes here no more. */
static NOINLINE bool heap_put_oldest_by(struct heap *heap, unsigned class) {
    void *const *oldest = &heap->class[class].array[1];
    unsigned put = 0;
    struct pack *pack;
    while (put < PACKS_AT_ONCE * PACK_BLOCKS && (pack = heap_new_pack_of_many(heap, class, false)) != NULL) {
        memcpy(pack->blocks, oldest + put, PACK_BLOCKS * sizeof(void *));
        heap_put_pack(heap, class, pack, PACK_BLOCKS);
        put += PACK_BLOCKS;
    }
    if (put > 0)
        heap_move_up(heap, class, put);
    return put > 0;
}

/* The second time in a row the run goes on, and all of it goes by. */
static NOINLINE bool heap_put_deep_by(struct heap *heap, unsigned class) {
    bool again = heap->class[class].put_by > 0;
    return (again && heap_put_array_by(heap, class, true)) || heap_put_oldest_by(heap, class);
}

/* One of large blocks, which has fewer than a pack. */
static NOINLINE bool heap_put_short_by(struct heap *heap, unsigned class) {
    const struct heap_class *mine = &heap->class[class];
    unsigned count = mine->largest - 1u;
    struct pack *pack = heap_new_pack(heap, class, false);
    if (!pack)
        return false;
    memcpy(pack->blocks, &mine->array[mine->sentinel + 1], count * sizeof(void *));
    heap_put_pack(heap, class, pack, count);
    heap_move_up(heap, class, count);
    return true;
}

bool heap_put_by(struct heap *heap, unsigned class) {
    struct heap_class *mine = &heap->class[class];
    visit_enter(&heap->visit);
    bool put = heap_may_exchange(mine) ? heap_put_array_by(heap, class, false)
               : heap_is_deep(mine)    ? heap_put_deep_by(heap, class)
                                       : heap_put_short_by(heap, class);
    visit_leave(&heap->visit);
    mine->put_by = (uint16_t)(mine->put_by + put);
    return put;
}

static ALWAYS_INLINE unsigned heap_take_up_array(struct heap *heap, unsigned class, bool deep,
                                                 struct pack *pack) {
    unsigned have = pack_count(pack);
    pack_drop(&heap->packs, heap_exchange(heap, class, pack), deep);
    return have;
}

/* Those that have come to a deep magazine as they went from it, the newest above. */
static unsigned heap_take_up_some(struct heap *heap, unsigned class, struct pack *newest) {
    struct pack *packs[PACKS_AT_ONCE] = {newest};
    void **first = &heap->class[class].array[1];
    unsigned count = 1, have = 0;
    while (count < PACKS_AT_ONCE && pack_waits(&heap->packs, class) &&
           !pack_is_deep(heap->packs.of[class].newest))
        packs[count++] = pack_take(&heap->packs, class);
    while (count > 0) {
        struct pack *pack = packs[--count];
        memcpy(first + have, pack->blocks, PACK_BLOCKS * sizeof(void *)); /* all, as there is room for that */
        have += pack_count(pack);
        pack_drop(&heap->packs, pack, false);
    }
    return have;
}

static NOINLINE unsigned heap_take_up_short(struct heap *heap, unsigned class, struct pack *pack) {
    unsigned have = pack_count(pack);
    memcpy((void **)heap->top[class] + 1, pack->blocks, have * sizeof(void *));
    pack_drop(&heap->packs, pack, false);
    return have;
}

static NOINLINE unsigned heap_take_up_deep(struct heap *heap, unsigned class, struct pack *pack) {
    return pack_is_deep(pack) ? heap_take_up_array(heap, class, true, pack)
                              : heap_take_up_some(heap, class, pack);
}

unsigned heap_take_up(struct heap *heap, unsigned class) {
    const struct heap_class *mine = &heap->class[class];
    unsigned have = 0;
    visit_enter(&heap->visit);
    struct pack *pack = pack_take(&heap->packs, class);
    ASSERT(P1, !pack || heap_is_deep(mine) || !pack_is_deep(pack));
    if (pack)
        have = heap_may_exchange(mine) ? heap_take_up_array(heap, class, false, pack)
               : heap_is_deep(mine)    ? heap_take_up_deep(heap, class, pack)
                                       : heap_take_up_short(heap, class, pack);
    visit_leave(&heap->visit);
    return have;
}

/* ---- by whoever is inside `visit` ---- */

/* The newest one, or as much of a deep one. */
static void heap_unpack_one(struct heap *heap, unsigned class) {
    struct pack_stack *stack = &heap->packs.of[class];
    uint16_t rested = stack->rested;
    struct pack *pack = pack_take(&heap->packs, class);
    bool deep = pack_is_deep(pack);
    unsigned count = pack_count(pack), stay = pack_stays(count);
    heap_put_back(heap, class, pack->blocks + stay, count - stay);
    if (stay > 0)
        pack_put(&heap->packs, class, pack, stay);
    else
        pack_drop(&heap->packs, pack, deep);
    stack->rested = rested < stack->count ? rested : stack->count;
}

static ALWAYS_INLINE void heap_unpack_next(struct heap *heap, unsigned most, bool wholly) {
    while (most > 0 && heap->packs.count > 0) {
        unsigned class = heap->unpacking;
        if (pack_waits(&heap->packs, class)) {
            heap_unpack_one(heap, class);
            most--;
            if (wholly && !pack_waits(&heap->packs, class))
                heap_drain_class(heap, class);
        } else {
            heap->unpacking = (uint8_t)(class + 1 < SIZECLASS_COUNT ? class + 1 : 0);
        }
    }
}

void heap_unpack(struct heap *heap, unsigned most) {
    heap_unpack_next(heap, most, false);
}

void heap_unpack_wholly(struct heap *heap, unsigned most) {
    heap_unpack_next(heap, most, true);
}

bool heap_unpack_class(struct heap *heap, unsigned class, unsigned most) {
    for (; most > 0 && pack_waits(&heap->packs, class); most--)
        heap_unpack_one(heap, class);
    return !pack_waits(&heap->packs, class);
}

bool heap_unpack_rested(struct heap *heap, bool now) {
    unsigned given = 0;
    for (unsigned class = 0; class < SIZECLASS_COUNT && heap->packs.count > 0; class ++) {
        struct pack_stack *stack = &heap->packs.of[class];
        for (unsigned rested = now ? stack->count : stack->rested; rested > 0; rested--) {
            if (given++ == PACKS_A_VISIT)
                return false;
            heap_unpack_one(heap, class);
            stack->rested = (uint16_t)(rested - 1);
        }
    }
    pack_rest(&heap->packs);
    return true;
}
