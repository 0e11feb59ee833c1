/* heap_elsewhere: heaps whose blocks others have freed. After heap_walk.h. */
#ifndef HAKMEM_TESTS_HEAP_ELSEWHERE_H
#define HAKMEM_TESTS_HEAP_ELSEWHERE_H

#include "heap_walk.h"

enum { SMALLEST_EACH = SIZECLASS_BLOCKS_MOST }; /* blocks of class 0 in a slab */

/* A heap that has used so many slabs of class 0 up, all of whose blocks others have freed. */
static struct heap *heap_freed_elsewhere(void **blocks, unsigned slabs) {
    struct heap *heap = heap_take();
    heap->class[0].units = sizeclass_table[0].units;
    for (unsigned i = 0; i < slabs * SMALLEST_EACH; i++)
        blocks[i] = take_raw(heap, 0);
    heap_drain(heap);
    for (unsigned i = 0; i < slabs * SMALLEST_EACH; i++)
        assert_int_equal(remote_free(pagemap_record(blocks[i]), blocks[i]), SLAB_OK);
    return heap;
}

/* Words of bits that wait to be collected of them. */
static unsigned words_waiting(void *const *blocks, unsigned slabs) {
    unsigned words = 0;
    for (unsigned i = 0; i < slabs; i++) {
        struct slab *slab = pagemap_record(blocks[i * SMALLEST_EACH]);
        words += slab ? bits_count(slab->remote_summary) : 0;
    }
    return words;
}

#endif
