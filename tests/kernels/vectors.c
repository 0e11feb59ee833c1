/*
 * vectors: do blocks that grow by realloc, turn about, keep their bytes wherever they are moved?
 *
 * What mremap refuses, and in which state it leaves the two ranges then, differs from kernel to kernel.
 */
#include "lifecycle/lifecycle.h"

enum { VECTORS = 4, ROUNDS = 400, PAGE = 4096, FIRST = 200000, LONGEST = 24 << 20 };

static struct {
    unsigned char *block;
    size_t bytes;
} vectors[VECTORS];

static unsigned char mark(size_t vector, size_t at) {
    return (unsigned char)(at / PAGE * 7 + vector + 1);
}

static void verify_vector(size_t i) {
    for (size_t at = 0; at < vectors[i].bytes; at += PAGE)
        CHECK(vectors[i].block[at] == mark(i, at));
}

/* Half as long again and a little. */
static void grow(size_t i) {
    size_t before = vectors[i].bytes, bytes = before + before / 2 + FIRST;
    unsigned char *block = realloc(vectors[i].block, bytes);
    CHECK(block != NULL);
    vectors[i].block = block;
    verify_vector(i);
    for (size_t at = (before + PAGE - 1) / PAGE * PAGE; at < bytes; at += PAGE)
        block[at] = mark(i, at);
    vectors[i].bytes = bytes;
}

int main(void) {
    unsigned state = 1;
    for (int round = 0; round < ROUNDS; round++) {
        size_t i = next_random(&state) % VECTORS;
        if (vectors[i].bytes > LONGEST) {
            free(vectors[i].block);
            vectors[i].block = NULL;
            vectors[i].bytes = 0;
        }
        grow(i);
    }
    for (size_t i = 0; i < VECTORS; i++) {
        verify_vector(i);
        free(vectors[i].block);
    }
    return 0;
}
