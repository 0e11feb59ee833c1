/* The address of a local variable is freed. */
#include "misuse.h"

#include <stdlib.h>

int main(void) {
    int local[100] = {0};
    free(misuse_address(local));
    return misuse_survived();
}
