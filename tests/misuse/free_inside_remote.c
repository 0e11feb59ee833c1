/* A pointer to the middle of a small block is freed by a thread that does not own the block. */
#include "misuse.h"

#include <pthread.h>
#include <stdlib.h>

static void *free_it(void *pointer) {
    free(pointer);
    return NULL;
}

int main(void) {
    char *block = malloc(1000);
    pthread_t thread;
    if (pthread_create(&thread, NULL, free_it, misuse_address(block + 100)) != 0 ||
        pthread_join(thread, NULL) != 0) {
        return 2;
    }
    free(block);
    return misuse_survived();
}
