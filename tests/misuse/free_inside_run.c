/* A pointer into a large block, a run of units, is freed. */
#include "misuse.h"

#include <stdlib.h>
#include <string.h>

int main(void) {
    char *block = malloc(200000);
    memset(block, 'x', 200000);
    free(misuse_address(block + 100000));
    for (size_t i = 0; i < 200000; i++) {
        if (block[i] != 'x') {
            return 1;
        }
    }
    free(block);
    return misuse_survived();
}
