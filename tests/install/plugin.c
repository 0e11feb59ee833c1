/* A plugin of somebody else's with the archive in it: it leaves memory that goes home later. */
#include <hakmem.h>

enum { BLOCKS = 40000, BYTES = 200 };

void plugin_work(void) {
    static void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = hakmem_malloc(BYTES);
    for (int i = 0; i < BLOCKS; i++)
        hakmem_free(blocks[i]);
}
