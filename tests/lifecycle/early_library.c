/*
 * early_library: a shared library whose constructor runs before every other one, libc's included (it is
 * linked with -z initfirst), and whose destructor therefore runs after every other one. It allocates and
 * frees in both. exit_handlers and first_call look at what it did.
 */
#include <stdlib.h>
#include <string.h>

extern int *early_library_ended;
extern char *early_library_block;
int *early_library_ended;
char *early_library_block;

static void use_heap(void) {
    for (size_t size = 1; size < 3u << 20; size = size * 3 + 1) {
        char *block = malloc(size);
        char *zeroed = calloc(1, size);
        if (block == NULL || zeroed == NULL || zeroed[size - 1] != 0)
            abort();
        memset(block, 1, size);
        block = realloc(block, size * 2);
        if (block == NULL || block[size - 1] != 1)
            abort();
        free(block);
        free(zeroed);
    }
}

__attribute__((constructor)) static void begin(void) {
    use_heap();
    early_library_block = malloc(1000);
    if (early_library_block == NULL)
        abort();
    memset(early_library_block, 'e', 1000);
}

__attribute__((destructor)) static void end(void) {
    free(early_library_block);
    use_heap();
    if (early_library_ended != NULL)
        *early_library_ended = 1;
}
