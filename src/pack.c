#include "pack.h"

#include "metadata.h"

enum {
    BYTES_MOST = 8 << 20,
    PACKS_MOST = 512,
    PACKS_OF_CLASS = 32,
    SMALL_BYTES = 384 << 10,               /* of a class, in use or put by: docs/experiments/packs.md */
    BYTES_A_PACK = BYTES_MOST / PACKS_MOST /* where fewer bytes are allowed, fewer packs are, too */
};

static size_t pack_bytes; /* written once, before there are threads */

void pack_configure(size_t bytes) {
    pack_bytes = bytes;
}

/* One more, as the count-th of the heap: no more than its share, in bytes and in packs. */
static bool pack_fits(const struct packs *packs, size_t size, size_t count, size_t heaps) {
    size_t bytes = packs->bytes + PACK_BLOCKS * size;
    return bytes <= BYTES_MOST && bytes * heaps <= pack_bytes && count <= PACKS_MOST &&
           count * BYTES_A_PACK * heaps <= pack_bytes;
}

struct pack *pack_new(struct packs *packs, unsigned class, unsigned heaps, unsigned out) {
    size_t size = sizeclass_table[class].size, count = packs->count + (size_t)1;
    if (packs->of[class].count >= PACKS_OF_CLASS) {
        if (out * size > SMALL_BYTES)
            return NULL;
        count *= 2; /* the other half is for other classes */
    }
    if (!pack_fits(packs, size, count, heaps))
        return NULL;
    struct pack *pack = packs->unused;
    if (!pack)
        return metadata_new(sizeof(struct pack));
    packs->unused = pack->next;
    return pack;
}

void pack_put(struct packs *packs, unsigned class, struct pack *pack) {
    ASSERT(P3, pack->count > 0 && pack->count <= PACK_BLOCKS);
    pack->next = packs->of[class].newest;
    __atomic_store_n(&packs->of[class].newest, pack, __ATOMIC_RELAXED); /* read by pack_waits */
    packs->of[class].count++;
    packs->count++;
    packs->bytes += pack->count * sizeclass_table[class].size;
    ASSERT(P1, packs->bytes <= BYTES_MOST && packs->count <= PACKS_MOST);
}

struct pack *pack_take(struct packs *packs, unsigned class) {
    struct pack_stack *stack = &packs->of[class];
    struct pack *pack = stack->newest;
    if (!pack)
        return NULL;
    __atomic_store_n(&stack->newest, pack->next, __ATOMIC_RELAXED); /* read by pack_waits */
    stack->count--;
    stack->rested = stack->count < stack->rested ? stack->count : stack->rested;
    packs->count--;
    packs->bytes -= pack->count * sizeclass_table[class].size;
    return pack;
}

void pack_drop(struct packs *packs, struct pack *pack) {
    pack->next = packs->unused;
    packs->unused = pack;
}

void pack_rest(struct packs *packs) {
    for (struct pack_stack *stack = packs->of; stack < packs->of + SIZECLASS_COUNT; stack++)
        stack->rested = stack->count;
}
