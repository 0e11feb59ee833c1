/* A small block is freed twice by its own thread. */
#include "misuse.h"

#include <stdlib.h>

enum { BLOCKS = 400 };

int main(void) {
    static void *blocks[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(40);
    }
    void *block = misuse_address(blocks[BLOCKS / 2]); /* not one of the first, which are of a larger class */
    free(block);
    free(block);
    blocks[BLOCKS / 2] = NULL;
    for (size_t i = 0; i < BLOCKS; i++) {
        free(blocks[i]); /* enough of them that a thread's cache must look at what it holds */
    }
    return misuse_survived();
}
