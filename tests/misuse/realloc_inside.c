/* realloc of a pointer into a large block: it fails with ENOMEM, and the block is as it was. */
#include "misuse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    char *block = malloc(200000);
    memset(block, 'x', 200000);
    void *pointer = misuse_address(block + 70000);
    errno = 0;
    void *grown = realloc(pointer, 300000);
    if (grown != NULL || errno != ENOMEM) {
        printf("realloc gave %p, errno %d\n", grown, errno);
        return 1;
    }
    for (size_t i = 0; i < 200000; i++) {
        if (block[i] != 'x') {
            return 1;
        }
    }
    free(block);
    return misuse_survived();
}
