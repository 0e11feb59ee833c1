/* What is freed, and then given to realloc, lies just behind the start of a large block that a thread has at hand. */
#include "misuse.h"

#include <malloc.h>
#include <stdlib.h>

int main(void) {
    char *block = misuse_at_hand(), *inside = misuse_address(block + 1);
    if (malloc_usable_size(inside) != 0)
        return 1;
    free(inside);
    if (realloc(inside, 125000) != NULL || realloc(inside, 300000) != NULL)
        return 1;
    void *first = malloc(100000), *second = malloc(100000);
    return first == second ? 1 : misuse_survived();
}
