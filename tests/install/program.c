/* A program of somebody else's: built against the installed tree, it says which malloc it got. */
#include <hakmem.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    char *block = malloc(1000);
    int ours;
    if (block == NULL)
        return 2;
    memset(block, 1, 1000);
    /* 1,000 bytes come as a block of 1,024 here and of 1,000 in glibc. */
    ours = hakmem_usable_size(block) == 1024;
    free(block);
    return ours ? 0 : 1;
}
