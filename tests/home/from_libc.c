/*
 * from_libc: is no thread started, and nothing loaded, while libc allocates?
 *
 *   from_libc calloc|realloc|samples
 *
 * Whoever calls from inside of libc or the dynamic linker may hold one of their locks, which starting a thread needs (P2 of
 * janitor). A program of two threads takes eleven MiB, all of it by hcreate_r, which calls calloc, or by argz_append, whose realloc
 * takes new blocks and gives the old ones back; and where the rest is not to be told, as from inside of realloc, no janitor may be
 * there then. As soon as the program itself takes as much, there is one.
 *
 * Where samples are taken, what it takes to walk up the stack is loaded when the program itself allocates, and not before.
 */
#include "home.h"

#include <argz.h>
#include <search.h>

enum { TABLES = 20000, PLACES = 20, VECTORS = 10000, GROWS = 3, PART = 250, BLOCKS = 20000, SIZE = 600 };

static struct hsearch_data tables[TABLES];
static struct vector {
    char *text;
    size_t bytes;
} vectors[VECTORS];
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

static void by_calloc(void) {
    for (int i = 0; i < TABLES; i++)
        CHECK(hcreate_r(PLACES, &tables[i]) != 0);
}

static void by_realloc(void) {
    static const char part[PART];
    for (int round = 0; round < GROWS; round++)
        for (int i = 0; i < VECTORS; i++)
            CHECK(argz_append(&vectors[i].text, &vectors[i].bytes, part, sizeof part) == 0);
}

static void no_thread_is_started(void (*take)(void)) {
    pthread_barrier_init(&both, NULL, 2);
    pthread_barrier_init(&end, NULL, 2);
    pthread_t thread = start_thread(other, NULL);
    pthread_barrier_wait(&both);
    take();
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
}

static bool unwinder_is_loaded(void) {
    return strstr(text_of("/proc/self/maps"), "libgcc_s.so") != NULL;
}

static void nothing_is_loaded(void) {
    static const char part[PART];
    CHECK(!unwinder_is_loaded());
    for (int round = 0; round < 200; round++) { /* to 50 KB: small blocks, and then large ones */
        CHECK(argz_append(&vectors[0].text, &vectors[0].bytes, part, sizeof part) == 0);
        CHECK(!unwinder_is_loaded());
    }
    free(malloc(SIZE));
    if (!unwinder_is_loaded())
        skip("there is no libgcc_s.so");
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    if (strcmp(arguments[1], "samples") == 0)
        nothing_is_loaded();
    else
        no_thread_is_started(strcmp(arguments[1], "calloc") == 0 ? by_calloc : by_realloc);
    return 0;
}
