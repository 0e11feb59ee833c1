// growing_vector: what does a vector cost that grows by half with realloc, from 1 KiB to WS MiB?
//
// After the case that folly's FBVector is made for: a vector that asks its allocator to grow in place. The
// new part is written each time, so its pages are real; an allocator that copies pays for every byte again,
// one that remaps pays nothing. An operation is one KiB that is added.
#include "suite.h"

#include <stdlib.h>
#include <string.h>

enum { SMALLEST = 1024, KIB = 1024, MIB = 1024 * 1024 };

static uint64_t vector_grow(size_t largest) {
    size_t size = SMALLEST;
    unsigned char *vector = malloc(size);
    while (vector && size < largest) {
        size_t before = size;
        size = size / 2 * 3 < largest ? size / 2 * 3 : largest;
        vector = realloc(vector, size);
        if (vector)
            memset(vector + before, (int)(size >> 10), size - before);
    }
    if (!vector)
        suite_fail("the allocator returned NULL");
    free(vector);
    return (size - SMALLEST) / KIB;
}

static uint64_t run(struct suite_thread *thread) {
    uint64_t operations = 0;
    while (operations < thread->share)
        operations += vector_grow(thread->settings->working_set * MIB);
    return operations;
}

const struct suite suite = {
    .defaults = {.iterations = 300000, .working_set = 64, .seed = 1, .threads = 1},
    .most = 1u << 14,
    .run = run,
};
