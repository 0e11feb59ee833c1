/* Many pointers that are not the allocator's are freed: one line says it all. */
#include "misuse.h"

#include <stdlib.h>

static char objects[1000][64];

int main(void) {
    void *first = misuse_address(objects[0]);
    free(first);
    for (size_t i = 0; i < 1000; i++) {
        void *volatile pointer = objects[i];
        free(pointer);
    }
    return misuse_survived();
}
