/* A pointer to the middle of a small block is freed by the thread that owns the block. */
#include "misuse.h"

#include <stdlib.h>

enum { BLOCKS = 400 };

int main(void) {
    static char *blocks[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(40);
    }
    free(misuse_address(blocks[BLOCKS / 2] + 16)); /* not of one of the first, which are of a larger class */
    for (size_t i = 0; i < BLOCKS; i++) {
        free(blocks[i]); /* enough of them that a thread's cache must look at what it holds */
    }
    return misuse_survived();
}
