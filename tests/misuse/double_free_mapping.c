/* A large block, a mapping of its own, is freed twice. */
#include "misuse.h"

#include <stdlib.h>

int main(void) {
    void *block = misuse_address(malloc(5000000));
    free(block);
    free(block);
    return misuse_survived();
}
