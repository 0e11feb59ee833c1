/*
 * deep_library: a library as a program opens it with RTLD_DEEPBIND. It allocates from its first instruction on, frees
 * what others have made, and opens another one by its name only.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

void *(*deep_malloc(void))(size_t);
char *deep_exchange(char *block);
void *deep_open(const char *name);

/* libc makes the block, this library gives it back. */
static __attribute__((constructor)) void begin(void) {
    for (int i = 0; i < 100; i++)
        free(strdup("made by libc"));
}

/* Which malloc this library calls. */
void *(*deep_malloc(void))(size_t) {
    return malloc;
}

/* Takes a block and gives another for it. */
char *deep_exchange(char *block) {
    size_t bytes = strlen(block) + 1;
    char *own = malloc(bytes);

    if (own != NULL)
        memcpy(own, block, bytes);
    free(block);
    return own;
}

void *deep_open(const char *name) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);

    /* Not a jump to dlopen, which would then see another caller. */
    return library != NULL && dlsym(library, "deep_malloc") != NULL ? library : NULL;
}
