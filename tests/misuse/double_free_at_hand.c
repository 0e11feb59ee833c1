/* A large block that a thread has at hand is freed again, and given to realloc. */
#include "misuse.h"

#include <stdlib.h>

int main(void) {
    void *block = misuse_address(misuse_at_hand());
    free(block);
    return realloc(block, 300000) == NULL ? misuse_survived() : 1;
}
