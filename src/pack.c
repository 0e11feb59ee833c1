#include "pack.h"

#include "metadata.h"

enum {
    BYTES_MOST = 8 << 20,
    PACKS_MOST = 4096,
    PACKS_OF_CLASS = 32,
    SMALL_BYTES = 384 << 10, /* of a class, in use or put by: docs/experiments/packs.md */
    BYTES_A_PACK = 16 << 10  /* where fewer bytes are allowed, fewer packs are, too, whose records stay */
};

static size_t pack_bytes; /* written once, before there are threads */

void pack_configure(size_t bytes) {
    pack_bytes = bytes;
}

/* So many bytes in so many packs are no more than a heap's share. One by itself may have twice as many packs as several together. */
static bool pack_fits(size_t bytes, size_t count, size_t heaps) {
    return bytes <= BYTES_MOST && bytes * heaps <= pack_bytes && count <= PACKS_MOST &&
           count * (heaps > 1 ? heaps * BYTES_A_PACK : BYTES_A_PACK / 2) <= pack_bytes;
}

/* As how many packs they are looked at where a class has many: half is for other classes, or a ninth if all of this one may be put by, as it
 * comes in waves (0 are `out`). */
static ALWAYS_INLINE size_t pack_beside_others(size_t count, unsigned out) {
    return count + (out == 0 ? count / 8 : count);
}

bool pack_has_room(unsigned class, unsigned heaps, unsigned blocks) {
    return pack_fits(blocks * (size_t)sizeclass_table[class].size,
                     pack_beside_others(blocks / PACK_BLOCKS, 0), heaps);
}

struct pack *pack_new(struct packs *packs, unsigned class, bool deep, unsigned heaps, unsigned out) {
    unsigned blocks = deep ? PACK_DEEP_BLOCKS : PACK_BLOCKS, more = pack_counts(blocks);
    size_t size = sizeclass_table[class].size, count = packs->count + (size_t)more;
    if (packs->of[class].count + more > PACKS_OF_CLASS) {
        if (out * size > SMALL_BYTES)
            return NULL;
        count = pack_beside_others(count, out);
    }
    if (!pack_fits(packs->bytes + blocks * size, count, heaps))
        return NULL;
    struct pack *pack = packs->unused[deep];
    if (!pack)
        return metadata_new((deep ? PACK_DEEP_WORDS : PACK_WORDS) * sizeof(void *));
    packs->unused[deep] = pack_next(pack);
    return pack;
}

void pack_put(struct packs *packs, unsigned class, struct pack *pack, unsigned count) {
    struct pack_stack *stack = &packs->of[class];
    ASSERT(P3, count > 0 && count <= PACK_DEEP_BLOCKS && (uint8_t)(uintptr_t)pack == 0);
    pack->head = (uintptr_t)stack->newest | count;
    __atomic_store_n(&stack->newest, pack, __ATOMIC_RELAXED); /* read by pack_waits */
    unsigned more = pack_counts(count);
    stack->count = (uint16_t)(stack->count + more);
    packs->count += more;
    packs->bytes += count * sizeclass_table[class].size;
    ASSERT(P1, packs->bytes <= BYTES_MOST && packs->count <= PACKS_MOST);
}

struct pack *pack_take(struct packs *packs, unsigned class) {
    struct pack_stack *stack = &packs->of[class];
    struct pack *pack = stack->newest;
    if (!pack)
        return NULL;
    /* Wanted next, and where it is the head tells, which may be a miss. */
    __builtin_prefetch(&pack->blocks[PACK_BLOCKS - 1]);
    __atomic_store_n(&stack->newest, pack_next(pack), __ATOMIC_RELAXED); /* read by pack_waits */
    unsigned fewer = pack_counts(pack_count(pack));
    stack->count = (uint16_t)(stack->count - fewer);
    stack->rested = stack->count < stack->rested ? stack->count : stack->rested;
    packs->count -= fewer;
    packs->bytes -= pack_count(pack) * sizeclass_table[class].size;
    return pack;
}

void pack_drop(struct packs *packs, struct pack *pack, bool deep) {
    pack->head = (uintptr_t)packs->unused[deep];
    packs->unused[deep] = pack;
}

void pack_rest(struct packs *packs) {
    for (struct pack_stack *stack = packs->of; stack < packs->of + SIZECLASS_COUNT; stack++)
        stack->rested = stack->count;
}
