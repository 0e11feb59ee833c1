/* Memory that the program mapped itself is freed. */
#define _GNU_SOURCE
#include "misuse.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int main(void) {
    char *mapping = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) {
        return 2;
    }
    memset(mapping, 'x', 1 << 20);
    free(misuse_address(mapping));
    for (size_t i = 0; i < 1 << 20; i++) {
        if (mapping[i] != 'x') {
            return 1;
        }
    }
    return misuse_survived();
}
