/* A block of libc's own malloc is freed. */
#define _GNU_SOURCE
#include "misuse.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    void *symbol = libc == NULL ? NULL : dlsym(libc, "malloc");
    void *(*libc_malloc)(size_t);
    memcpy(&libc_malloc, &symbol, sizeof symbol);
    if (libc_malloc == NULL || libc_malloc == malloc) {
        return 2;
    }
    free(misuse_address(libc_malloc(100)));
    return misuse_survived();
}
