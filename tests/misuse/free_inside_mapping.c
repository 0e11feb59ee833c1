/* A pointer into a large block, a mapping of its own, is freed. */
#include "misuse.h"

#include <stdlib.h>
#include <string.h>

int main(void) {
    char *block = malloc(5000000);
    memset(block, 'x', 5000000);
    free(misuse_address(block + 1000));
    for (size_t i = 0; i < 5000000; i++) {
        if (block[i] != 'x') {
            return 1;
        }
    }
    free(block);
    return misuse_survived();
}
