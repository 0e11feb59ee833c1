/* In a program without a dynamic linker backtrace works from the first constructor on, and libc allocates before. */
#include "../../src/layout.h"

#include <execinfo.h>
#include <stdlib.h>
#include <string.h>

static const void *root(const char *name) {
    for (uint32_t i = 0; i < hakmem_layout.root_count; i++)
        if (strcmp(hakmem_layout.roots[i].name, name) == 0)
            return hakmem_layout.addresses[i];
    abort();
}

int main(void) {
    void *callers[8];
    free(malloc(1000)); /* first: one that unwinds before it allocates is not helped */
    int depth = backtrace(callers, 8);
    return depth > 0 && *(const void *const *)root("sample_state.newest") ? 0 : 1;
}
