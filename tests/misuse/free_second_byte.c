/* The second byte of a large block is freed: of one that was freed, the record says a start that is a byte away. */
#include "misuse.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 200000 };

int main(void) {
    char *block = malloc(BYTES), *second = misuse_address(block + 1);
    memset(block, 'x', BYTES);
    if (malloc_usable_size(second) != 0)
        return 1;
    free(second);
    if (realloc(second, 2 * BYTES) != NULL)
        return 1;
    for (size_t i = 0; i < BYTES; i++)
        if (block[i] != 'x')
            return 1;
    free(block);
    return misuse_survived();
}
