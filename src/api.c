#include "api.h"

#include "../include/hakmem.h"
#include "options.h"
#include "purge.h"
#include "stats.h"

#include <string.h>

EXPORT void *hakmem_malloc(size_t size) {
    return alloc_malloc(size);
}

EXPORT void *hakmem_calloc(size_t count, size_t size) {
    return alloc_calloc(count, size);
}

EXPORT void *hakmem_realloc(void *block, size_t size) {
    return alloc_realloc(block, size);
}

EXPORT void *hakmem_reallocarray(void *block, size_t count, size_t size) {
    size_t bytes;
    return api_product(count, size, &bytes) ? alloc_realloc(block, bytes) : NULL;
}

EXPORT void hakmem_free(void *block) {
    alloc_free(block);
}

EXPORT void hakmem_free_sized(void *block, size_t size UNUSED) {
    alloc_free(block);
}

EXPORT void hakmem_free_aligned_sized(void *block, size_t alignment UNUSED, size_t size UNUSED) {
    alloc_free(block);
}

EXPORT void *hakmem_aligned_alloc(size_t alignment, size_t size) {
    return api_aligned_alloc(alignment, size);
}

EXPORT int hakmem_posix_memalign(void **block, size_t alignment, size_t size) {
    return api_posix_memalign(block, alignment, size);
}

EXPORT size_t hakmem_usable_size(const void *block) {
    return alloc_usable_size(block);
}

EXPORT size_t hakmem_purge(void) {
    return purge_all();
}

EXPORT size_t hakmem_stats(struct hakmem_statistics *stats, size_t bytes) {
    struct stats now;
    stats_collect(&now);
    const struct hakmem_statistics known = {
        .mapped_bytes = now.mapped_bytes,
        .live_bytes = now.live_bytes,
        .free_bytes = now.free_bytes,
        .metadata_bytes = now.metadata_bytes,
    };
    size_t shared = bytes < sizeof known ? bytes : sizeof known;
    memcpy(stats, &known, shared);
    memset((unsigned char *)stats + shared, 0, bytes - shared);
    return sizeof known;
}

EXPORT const char *hakmem_version(void) {
    return options_version;
}

EXPORT const char *hakmem_variant(void) {
    return options_variant;
}
