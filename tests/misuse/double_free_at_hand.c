/* Two threads take and free large blocks by turns, so that each has some at hand; then one frees such a block again. */
#include "misuse.h"

#include <pthread.h>
#include <stdlib.h>

enum { TURNS = 200 };

static pthread_barrier_t turn;

static void take_and_free(void) {
    void *volatile block = malloc(200000);
    free(block);
}

static void *take_turns(void *second) {
    for (int i = 0; i < TURNS; i++) {
        if ((i % 2 == 0) == (second == NULL))
            take_and_free();
        pthread_barrier_wait(&turn);
    }
    return NULL;
}

int main(void) {
    pthread_t thread;
    take_and_free();
    if (pthread_barrier_init(&turn, NULL, 2) != 0 || pthread_create(&thread, NULL, take_turns, &turn) != 0)
        return 2;
    take_turns(NULL);
    pthread_join(thread, NULL);
    void *block = misuse_address(malloc(200000));
    free(block);
    free(block);
    return realloc(block, 300000) == NULL ? misuse_survived() : 1;
}
