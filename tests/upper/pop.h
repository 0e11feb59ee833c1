/* slab_pop stores downwards from an end; tests want the blocks in ascending order. */
#ifndef HAKMEM_TESTS_UPPER_POP_H
#define HAKMEM_TESTS_UPPER_POP_H

#include "../../src/slab.h"

#include <string.h>

enum { POP_MOST = 4096 };

static unsigned pop_ascending(struct slab *slab, void **blocks, unsigned count, bool fresh) {
    static void *downwards[POP_MOST];
    memset(downwards, 0, sizeof downwards);
    unsigned have = slab_pop(slab, downwards + POP_MOST, count, fresh);
    for (unsigned i = 0; i < have; i++)
        blocks[i] = downwards[POP_MOST - 1 - i];
    assert_true(have == POP_MOST || downwards[POP_MOST - 1 - have] == NULL); /* and not one more */
    return have;
}

#endif
