/* malloc_usable_size of what is not a block is 0. */
#include "misuse.h"

#include <malloc.h>
#include <stdio.h>

static int object[100];

int main(void) {
    int local[100] = {0};
    if (malloc_usable_size(misuse_address(object)) != 0 || malloc_usable_size((void *)local) != 0 ||
        malloc_usable_size(NULL) != 0) {
        printf("a size was found\n");
        return 1;
    }
    return misuse_survived();
}
