/* A small block is freed twice by its own thread. */
#include "misuse.h"

#include <stdlib.h>

enum { BLOCKS = 400 };

int main(void) {
    static void *blocks[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(40);
    }
    void *block = misuse_address(blocks[0]);
    free(block);
    free(block);
    for (size_t i = 1; i < BLOCKS; i++) {
        free(blocks[i]); /* enough of them that a thread's cache must look at what it holds */
    }
    return misuse_survived();
}
