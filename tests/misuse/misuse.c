#include "misuse.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 4000, AT_HAND = 100000, TURNS = 200 };

void *misuse_address(const void *address) {
    void *volatile hidden = (void *)address;
    printf("%p\n", address);
    fflush(stdout);
    return hidden;
}

static void *take_and_free(void) {
    void *volatile block = malloc(AT_HAND);
    free(block);
    return block;
}

static pthread_barrier_t turn;

static void *take_turns(void *second) {
    for (int i = 0; i < TURNS; i++) {
        if ((i % 2 == 0) == (second == NULL))
            take_and_free();
        pthread_barrier_wait(&turn);
    }
    return NULL;
}

void *misuse_at_hand(void) {
    pthread_t thread;
    take_and_free(); /* before there are threads: then they may have something at hand */
    if (pthread_barrier_init(&turn, NULL, 2) != 0 || pthread_create(&thread, NULL, take_turns, &turn) != 0)
        return NULL;
    take_turns(NULL);
    pthread_join(thread, NULL);
    return take_and_free();
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
