/* A program of somebody else's: built against the installed tree, it says which malloc it got. */
#include <hakmem.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    char *block = malloc(100);
    int ours;
    if (block == NULL)
        return 2;
    memset(block, 1, 100);
    /* 100 bytes come as a block of 112 here and of 104 in glibc. */
    ours = hakmem_usable_size(block) == 112;
    free(block);
    return ours ? 0 : 1;
}
