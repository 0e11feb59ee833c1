/*
 * The allocator under test, by one set of names.
 *
 * A test program is built in one of two ways from the same source:
 *   - preload: it calls malloc, free ... and the tested library is preloaded over libc's;
 *   - prefixed (TESTED_PREFIXED): it calls hakmem_malloc, hakmem_free ... of the archive that it is linked
 *     with. The sanitizers bring a malloc of their own, so that their builds can only be tested this way.
 *
 * Programs call tested_malloc() and its sisters and never name the allocator themselves. tested_is_in_place() says
 * whether malloc is that of the library named by TESTED_LIB, so that a preload that did not work cannot pass
 * as a success; without TESTED_LIB any allocator will do.
 */
#ifndef HAKMEM_TESTED_ALLOCATOR_H
#define HAKMEM_TESTED_ALLOCATOR_H

#include <stdbool.h>

#ifdef TESTED_PREFIXED

#include "hakmem.h"

#define tested_malloc hakmem_malloc
#define tested_calloc hakmem_calloc
#define tested_realloc hakmem_realloc
#define tested_free hakmem_free
#define tested_posix_memalign hakmem_posix_memalign
#define tested_aligned_alloc hakmem_aligned_alloc
#define tested_memalign hakmem_aligned_alloc
#define tested_usable_size hakmem_usable_size

static inline bool tested_is_in_place(void) {
    return true;
}

#else

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define tested_malloc malloc
#define tested_calloc calloc
#define tested_realloc realloc
#define tested_free free
#define tested_posix_memalign posix_memalign
#define tested_aligned_alloc aligned_alloc
#define tested_memalign memalign
#define tested_usable_size malloc_usable_size

static inline bool tested_is_in_place(void) {
    const char *library = getenv("TESTED_LIB");
    Dl_info info;
    if (library == NULL)
        return true;
    return dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info) != 0 && strcmp(info.dli_fname, library) == 0;
}

#endif

#endif
