/* api: the prefixed interface of include/hakmem.h, and the argument rules it shares with libc.
 *
 * Owns what stands between a caller's arguments and the alloc room: which alignments are an error and
 * which error, how errno is kept, which products overflow. The interposed names of libc have the same
 * rules, so they stand here once, as inline functions that add nothing to a correct call but one test.
 *
 * P1  a wrong alignment is EINVAL and allocates nothing
 * P2  an overflowing product is ENOMEM and leaves the old block untouched
 * P3  posix_memalign never changes errno
 *
 * Called by libc, and by programs through include/hakmem.h. Never looks at a block itself.
 */
#ifndef HAKMEM_API_H
#define HAKMEM_API_H

#include "base.h"

#include "alloc.h"

#include <errno.h>
#include <stddef.h>

static inline void *api_aligned_alloc(size_t alignment, size_t size) {
    if (UNLIKELY(!is_power_of_two(alignment))) {
        errno = EINVAL;
        return NULL;
    }
    return alloc_aligned(alignment, size);
}

static inline int api_posix_memalign(void **block, size_t alignment, size_t size) {
    if (UNLIKELY(!is_power_of_two(alignment) || alignment < sizeof(void *))) {
        return EINVAL;
    }
    int before = errno;
    void *fresh = alloc_aligned_for(alignment, size, __builtin_return_address(0));
    if (UNLIKELY(fresh == NULL)) {
        errno = before;
        return ENOMEM;
    }
    *block = fresh;
    return 0;
}

/* False when there is no such size. */
static inline bool api_product(size_t count, size_t size, size_t *bytes) {
    if (UNLIKELY(__builtin_mul_overflow(count, size, bytes))) {
        errno = ENOMEM;
        return false;
    }
    return true;
}

#endif
