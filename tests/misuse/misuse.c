#include "misuse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 4000 };

void *misuse_address(const void *address) {
    void *volatile hidden = (void *)address;
    printf("%p\n", address);
    fflush(stdout);
    return hidden;
}

static size_t size_of(size_t i) {
    return i % 100 == 99 ? 40000 + i * 7 : i * 13 % 700 + 1;
}

/* Twice: what the first round frees, the second gets. */
int misuse_survived(void) {
    static unsigned char *blocks[BLOCKS];
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < BLOCKS; i++) {
            blocks[i] = malloc(size_of(i));
            if (blocks[i] == NULL) {
                printf("no memory\n");
                return 1;
            }
            memset(blocks[i], (int)(i & 0xff), size_of(i));
        }
        for (size_t i = 0; i < BLOCKS; i++) {
            for (size_t byte = 0; byte < size_of(i); byte++) {
                if (blocks[i][byte] != (i & 0xff)) {
                    printf("two blocks overlap\n");
                    return 1;
                }
            }
        }
        for (size_t i = 0; i < BLOCKS; i++) {
            free(blocks[i]);
        }
    }
    printf("intact\n");
    return 0;
}
