/* Another thread frees a place in a slab that was never handed out. */
#include "misuse.h"

#include <pthread.h>
#include <stdlib.h>

static void *free_it(void *pointer) {
    free(pointer);
    return NULL;
}

int main(void) {
    pthread_t thread;
    char *block = malloc(100);
    if (pthread_create(&thread, NULL, free_it, misuse_address(block + 100 * 112)) != 0)
        return 1;
    pthread_join(thread, NULL);
    free(block);
    return misuse_survived();
}
