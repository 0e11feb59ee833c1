/* In the middle of a long run of frees a block is freed a second time. */
#include "misuse.h"

#include <stdlib.h>

enum { BLOCKS = 20000, AGAIN = 15000 };

static void *blocks[BLOCKS];

int main(void) {
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = malloc(64);
    void *again = misuse_address(blocks[AGAIN]);
    for (int i = 0; i < BLOCKS; i++) {
        free(blocks[i]);
        if (i == AGAIN + 10)
            free(again);
    }
    return misuse_survived();
}
