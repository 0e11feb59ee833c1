/* In the middle of a long run of frees an address inside of a block is freed. */
#include "misuse.h"

#include <stdlib.h>

enum { BLOCKS = 20000, INSIDE = 15000 };

static void *blocks[BLOCKS];

int main(void) {
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = malloc(64);
    void *inside = misuse_address((char *)blocks[INSIDE] + 16);
    for (int i = 0; i < BLOCKS; i++) {
        if (i == INSIDE)
            free(inside);
        free(blocks[i]);
    }
    return misuse_survived();
}
