/* What a heap has put by goes back to its slabs. */
#include "heap_parts.h"

enum { PACKS_A_VISIT = 64 /* given up at once on behalf of a thread that may wait for it */ };

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

void heap_unpack_class(struct heap *heap, unsigned class) {
    for (struct pack *pack; (pack = pack_take(&heap->packs, class)) != NULL;)
        heap_unpack_one(heap, class, pack);
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
