/* A small block is freed twice by a thread that does not own it. */
#include "misuse.h"

#include <pthread.h>
#include <stdlib.h>

static void *free_twice(void *block) {
    free(block);
    free(block);
    return NULL;
}

int main(void) {
    void *other = malloc(40);
    void *block = misuse_address(malloc(40));
    pthread_t thread;
    if (pthread_create(&thread, NULL, free_twice, block) != 0 || pthread_join(thread, NULL) != 0) {
        return 2;
    }
    free(other);
    return misuse_survived();
}
