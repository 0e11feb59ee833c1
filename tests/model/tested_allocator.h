/*
 * The allocator under test, by one set of names.
 *
 * A test program is built in one of two ways from the same source:
 *   - preload: it calls malloc, free ... and the tested library is preloaded over libc's;
 *   - prefixed (TESTED_PREFIXED): it calls hakmem_malloc, hakmem_free ... of the archive that it is linked
 *     with. The sanitizers bring a malloc of their own, so that their builds can only be tested this way.
 *
 * Programs call tested_malloc() and its sisters and never name the allocator themselves. Nothing here
 * allocates, and nothing has a state.
 */
#ifndef HAKMEM_TESTED_ALLOCATOR_H
#define HAKMEM_TESTED_ALLOCATOR_H

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

#else

#include <malloc.h>
#include <stdlib.h>

#define tested_malloc malloc
#define tested_calloc calloc
#define tested_realloc realloc
#define tested_free free
#define tested_posix_memalign posix_memalign
#define tested_aligned_alloc aligned_alloc
#define tested_memalign memalign
#define tested_usable_size malloc_usable_size

#endif

#endif
