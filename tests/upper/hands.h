/* What a thread does with its heap, as alloc does it, and what became of a block: blocks of one class. */
#ifndef HAKMEM_TESTS_UPPER_HANDS_H
#define HAKMEM_TESTS_UPPER_HANDS_H

#include "../../src/heap.h"

enum { CLASS = 3 };

static void *take(struct heap *heap) {
    void **top = (void **)heap->top[CLASS], *block = *top;
    if (block)
        heap->top[CLASS] -= sizeof(void *);
    return block ? block : heap_refill(heap, CLASS);
}

static void give(struct heap *heap, void *block) {
    unsigned char *top = heap->top[CLASS];
    if (base_step_full(&top)) {
        heap_push(heap, CLASS, block);
    } else {
        *(void **)top = block;
        heap->top[CLASS] = top;
    }
}

static bool is_freed(const void *block) {
    const struct slab *slab = pagemap_record(block);
    return remote_is_freed(slab, slab_block_number(slab, block));
}

#endif
