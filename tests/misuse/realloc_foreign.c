/* realloc of a static object: it fails with ENOMEM, and the object is as it was. */
#include "misuse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char object[100];

int main(void) {
    memset(object, 'x', sizeof object);
    void *pointer = misuse_address(object);
    errno = 0;
    void *grown = realloc(pointer, 1000);
    if (grown != NULL || errno != ENOMEM) {
        printf("realloc gave %p, errno %d\n", grown, errno);
        return 1;
    }
    for (size_t i = 0; i < sizeof object; i++) {
        if (object[i] != 'x') {
            return 1;
        }
    }
    return misuse_survived();
}
