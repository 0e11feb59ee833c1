/* realloc of a place in a slab that was never handed out. Where frees are verified it is noticed; elsewhere a block that fits is
 * not looked at. */
#include "misuse.h"

#include <stdlib.h>

int main(void) {
    char *block = malloc(100);
    volatile void *kept = realloc(misuse_address(block + 100 * 112), 100);
    (void)kept;
    free(block);
    return misuse_survived();
}
