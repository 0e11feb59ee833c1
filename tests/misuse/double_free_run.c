/* A large block, a run of units, is freed twice. */
#include "misuse.h"

#include <stdlib.h>

int main(void) {
    void *block = misuse_address(malloc(200000));
    free(block);
    free(block);
    return misuse_survived();
}
