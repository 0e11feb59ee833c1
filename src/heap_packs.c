/* What a heap puts by, takes up again, or gives back to its slabs. docs/experiments/packs.md */
#include "heap_parts.h"

#include <string.h>

enum {
    PACKS_A_VISIT = 64, /* given up at once on behalf of a thread that may wait for it */
    PACKS_AT_ONCE = 3   /* come to a deep magazine, or go: room for one more is left, or one more stays */
};

/* ---- by the heap's thread ---- */

static struct pack *heap_new_pack(struct heap *heap, unsigned class) {
    return pack_new(&heap->packs, class, heap_in_use(), heap->class[class].out);
}

static void heap_put_pack(struct heap *heap, unsigned class, struct pack *pack, unsigned count) {
    pack->count = count;
    pack_put(&heap->packs, class, pack);
    heap->flushed += count * (uint64_t)sizeclass_table[class].size; /* a janitor may want to know */
    heap_count_work(heap);
}

/* The array of a magazine becomes a pack, and the pack its array, so that no pointer is copied. */
static bool heap_may_exchange(const struct heap_class *mine) {
    _Static_assert(sizeof(struct pack) == HEAP_ARRAY_WORDS * sizeof(void *), "a pack is an array");
    return mine->largest == HEAP_ARRAY_WORDS - 1;
}

static struct pack *heap_exchange(struct heap *heap, unsigned class, struct pack *pack) {
    struct heap_class *mine = &heap->class[class];
    struct pack *old = (struct pack *)mine->array;
    mine->array = (void **)pack;
    mine->end = mine->array + HEAP_ARRAY_WORDS;
    heap_rewind(heap, class, heap_sentinel(mine));
    return old;
}

bool heap_put_spare_by(struct heap *heap, unsigned class) {
    struct heap_class *mine = &heap->class[class];
    visit_enter(&heap->visit);
    struct pack *empty = heap_new_pack(heap, class);
    if (empty) {
        heap_put_pack(heap, class, mine->spare, mine->spare_count);
        mine->spare = empty;
        mine->spare_count = 0;
    }
    visit_leave(&heap->visit);
    return empty != NULL;
}

/* Inside `visit`, as the next. All but the newest block. */
static bool heap_put_array_by(struct heap *heap, unsigned class) {
    struct pack *pack = heap_new_pack(heap, class);
    if (!pack)
        return false;
    void *newest = heap->class[class].array[HEAP_ARRAY_WORDS - 1];
    heap_put_pack(heap, class, heap_exchange(heap, class, pack), PACK_BLOCKS);
    heap->top[class] += sizeof(void *);
    *(void **)heap->top[class] = newest;
    return true;
}

/* Of a deep one, as far as packs may be had; a swing by a pack more or less comes here no more. */
static NOINLINE bool heap_put_deep_by(struct heap *heap, unsigned class) {
    void *const *oldest = &heap->class[class].array[1];
    unsigned put = 0;
    struct pack *pack;
    while (put < PACKS_AT_ONCE * PACK_BLOCKS && (pack = heap_new_pack(heap, class)) != NULL) {
        memcpy(pack->blocks, oldest + put, sizeof pack->blocks);
        heap_put_pack(heap, class, pack, PACK_BLOCKS);
        put += PACK_BLOCKS;
    }
    if (put > 0)
        heap_move_up(heap, class, put);
    return put > 0;
}

/* One of large blocks, which has fewer than a pack. */
static NOINLINE bool heap_put_short_by(struct heap *heap, unsigned class) {
    const struct heap_class *mine = &heap->class[class];
    unsigned count = mine->largest - 1u;
    struct pack *pack = heap_new_pack(heap, class);
    if (!pack)
        return false;
    memcpy(pack->blocks, &mine->array[mine->sentinel + 1], count * sizeof(void *));
    heap_put_pack(heap, class, pack, count);
    heap_move_up(heap, class, count);
    return true;
}

bool heap_put_by(struct heap *heap, unsigned class) {
    const struct heap_class *mine = &heap->class[class];
    visit_enter(&heap->visit);
    bool put = heap_may_exchange(mine) ? heap_put_array_by(heap, class)
               : heap_is_deep(mine)    ? heap_put_deep_by(heap, class)
                                       : heap_put_short_by(heap, class);
    visit_leave(&heap->visit);
    return put;
}

static unsigned heap_take_up_array(struct heap *heap, unsigned class, struct pack *pack) {
    unsigned have = (unsigned)pack->count;
    pack_drop(&heap->packs, heap_exchange(heap, class, pack));
    return have;
}

/* The newest above. */
static NOINLINE unsigned heap_take_up_deep(struct heap *heap, unsigned class, struct pack *newest) {
    struct pack *packs[PACKS_AT_ONCE] = {newest};
    void **first = &heap->class[class].array[1];
    unsigned count = 1, have = 0;
    while (count < PACKS_AT_ONCE && (packs[count] = pack_take(&heap->packs, class)) != NULL)
        count++;
    while (count > 0) {
        struct pack *pack = packs[--count];
        memcpy(first + have, pack->blocks, sizeof pack->blocks); /* all, as there is room for that */
        have += (unsigned)pack->count;
        pack_drop(&heap->packs, pack);
    }
    return have;
}

static NOINLINE unsigned heap_take_up_short(struct heap *heap, unsigned class, struct pack *pack) {
    unsigned have = (unsigned)pack->count;
    memcpy((void **)heap->top[class] + 1, pack->blocks, have * sizeof(void *));
    pack_drop(&heap->packs, pack);
    return have;
}

unsigned heap_take_up(struct heap *heap, unsigned class) {
    const struct heap_class *mine = &heap->class[class];
    unsigned have = 0;
    visit_enter(&heap->visit);
    struct pack *pack = pack_take(&heap->packs, class);
    if (pack)
        have = heap_may_exchange(mine) ? heap_take_up_array(heap, class, pack)
               : heap_is_deep(mine)    ? heap_take_up_deep(heap, class, pack)
                                       : heap_take_up_short(heap, class, pack);
    visit_leave(&heap->visit);
    return have;
}

/* ---- by whoever is inside `visit` ---- */

static void heap_unpack_one(struct heap *heap, unsigned class, struct pack *pack) {
    heap_put_back(heap, class, pack->blocks, (unsigned)pack->count);
    pack_drop(&heap->packs, pack);
}

void heap_unpack(struct heap *heap, unsigned most) {
    while (most > 0 && heap->packs.count > 0) {
        struct pack *pack = pack_take(&heap->packs, heap->unpacking);
        if (pack) {
            heap_unpack_one(heap, heap->unpacking, pack);
            most--;
        } else {
            heap->unpacking = (uint8_t)((heap->unpacking + 1) % SIZECLASS_COUNT);
        }
    }
}

bool heap_unpack_class(struct heap *heap, unsigned class, unsigned most) {
    for (; most > 0 && pack_waits(&heap->packs, class); most--)
        heap_unpack_one(heap, class, pack_take(&heap->packs, class));
    return !pack_waits(&heap->packs, class);
}

bool heap_unpack_rested(struct heap *heap, bool now) {
    unsigned given = 0;
    for (unsigned class = 0; class < SIZECLASS_COUNT && heap->packs.count > 0; class ++) {
        struct pack_stack *stack = &heap->packs.of[class];
        for (unsigned rested = now ? stack->count : stack->rested; rested > 0; rested--) {
            if (given++ == PACKS_A_VISIT)
                return false;
            heap_unpack_one(heap, class, pack_take(&heap->packs, class));
            stack->rested = (uint16_t)(rested - 1);
        }
    }
    pack_rest(&heap->packs);
    return true;
}
