/* The address of a static object is freed. */
#include "misuse.h"

#include <stdlib.h>

static int object[100];

int main(void) {
    free(misuse_address(object));
    return misuse_survived();
}
