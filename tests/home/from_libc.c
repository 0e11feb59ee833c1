/*
 * from_libc: is no thread started while libc allocates?
 *
 * Whoever calls from inside of libc or the dynamic linker may hold one of their locks, which starting a thread needs (P2 of
 * janitor). A program of two threads takes eleven MiB, all of it by hcreate_r, which calls calloc: no janitor may be there then.
 * As soon as the program itself takes as much, there is one.
 */
#include "home.h"

#include <search.h>

enum { TABLES = 20000, PLACES = 20, BLOCKS = 20000, SIZE = 600 };

static struct hsearch_data tables[TABLES];
static void *blocks[BLOCKS];
static pthread_barrier_t both, end;

static void *other(void *nothing) {
    void *block = malloc(SIZE);
    CHECK(block != NULL);
    pthread_barrier_wait(&both);
    pthread_barrier_wait(&end);
    free(block);
    return nothing;
}

int main(void) {
    pthread_barrier_init(&both, NULL, 2);
    pthread_barrier_init(&end, NULL, 2);
    pthread_t thread = start_thread(other, NULL);
    pthread_barrier_wait(&both);
    for (int i = 0; i < TABLES; i++)
        CHECK(hcreate_r(PLACES, &tables[i]) != 0);
    rest(300); /* one that was started would have its name by then */
    CHECK(janitor() == 0);
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(SIZE);
        CHECK(blocks[i] != NULL);
    }
    AWAIT(janitor() != 0);
    pthread_barrier_wait(&end);
    join_thread(thread);
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    return 0;
}
