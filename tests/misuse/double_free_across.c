/* A thread frees a small block of its own and ends; then another thread frees the block again. */
#include "misuse.h"

#include <pthread.h>
#include <stdlib.h>

static void *blocks[2];

static void *make_and_free(void *unused) {
    blocks[0] = malloc(40);
    blocks[1] = malloc(40); /* stays, and so does the slab that both lie in */
    free(misuse_address(blocks[0]));
    return unused;
}

int main(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, make_and_free, NULL) != 0 || pthread_join(thread, NULL) != 0) {
        return 2;
    }
    void *volatile block = blocks[0];
    free(block);
    free(blocks[1]);
    return misuse_survived();
}
