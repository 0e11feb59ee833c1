#include "libc.h"

#include "alloc.h"
#include "api.h"
#include "lifecycle.h"
#include "next.h"
#include "os.h"
#include "purge.h"
#include "stats.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* By name, through the dynamic symbol: see P5. */
extern void *libc_named_realloc(void *block, size_t size) __asm__("realloc");
extern void libc_named_free(void *block) __asm__("free");
extern void *libc_named_valloc(size_t size) __asm__("valloc");

/* ISO C */

EXPORT void *malloc(size_t size) {
    return alloc_malloc(size);
}

EXPORT void free(void *block) {
    alloc_free(block);
}

EXPORT void *calloc(size_t count, size_t size) {
    return alloc_calloc(count, size);
}

EXPORT void *realloc(void *block, size_t size) {
    return alloc_realloc(block, size);
}

EXPORT void free_sized(void *block, size_t size UNUSED) {
    libc_named_free(block);
}

EXPORT void free_aligned_sized(void *block, size_t alignment UNUSED, size_t size UNUSED) {
    libc_named_free(block);
}

/* POSIX and glibc: other ways to allocate */

EXPORT void *aligned_alloc(size_t alignment, size_t size) {
    return api_aligned_alloc(alignment, size);
}

EXPORT int posix_memalign(void **block, size_t alignment, size_t size) {
    return api_posix_memalign(block, alignment, size);
}

EXPORT void *reallocarray(void *block, size_t count, size_t size) {
    size_t bytes;
    return api_product(count, size, &bytes) ? libc_named_realloc(block, bytes) : NULL;
}

/* An alignment that is not a power of two means the next one that is. */
EXPORT void *memalign(size_t alignment, size_t size) {
    if (UNLIKELY(alignment > SIZE_MAX / 2 + 1)) {
        errno = EINVAL;
        return NULL;
    }
    if (UNLIKELY(!is_power_of_two(alignment))) {
        alignment = alignment == 0 ? 1 : (size_t)2 << bits_highest(alignment);
    }
    return alloc_aligned(alignment, size);
}

EXPORT void *valloc(size_t size) {
    return alloc_aligned(os_page_size(), size);
}

/* valloc of whole pages. */
EXPORT void *pvalloc(size_t size) {
    size_t page = os_page_size();
    if (UNLIKELY(size > SIZE_MAX - page)) {
        errno = ENOMEM;
        return NULL;
    }
    return libc_named_valloc(align_up(size, page));
}

EXPORT size_t malloc_usable_size(void *block) {
    return alloc_usable_size(block);
}

/* glibc: tuning and reports. With HAKMEM_FORCE_LIBC_ALLOC they speak of libc's heap. */

/* glibc's parameters mean nothing here, and a program that sets one must not believe that it failed. */
EXPORT int mallopt(int parameter, int value) {
    return lifecycle_forced() ? next_mallopt(parameter, value) : 1;
}

static struct next_info libc_mallinfo2(void) {
    if (lifecycle_forced()) {
        return next_mallinfo2();
    }
    struct stats now;
    stats_collect(&now);
    return (struct next_info){
        .arena = now.mapped_bytes,
        .uordblks = now.live_bytes,
        .fordblks = now.free_bytes,
        .keepcost = now.free_bytes,
    };
}

static int libc_clamp(size_t bytes) {
    return bytes > INT_MAX ? INT_MAX : (int)bytes;
}

/* The older mallinfo, whose fields are too small: they stop at INT_MAX. */
struct libc_info {
    int arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

static struct libc_info libc_mallinfo(void) {
    struct next_info wide = libc_mallinfo2();
    return (struct libc_info){
        .arena = libc_clamp(wide.arena),
        .ordblks = libc_clamp(wide.ordblks),
        .smblks = libc_clamp(wide.smblks),
        .hblks = libc_clamp(wide.hblks),
        .hblkhd = libc_clamp(wide.hblkhd),
        .usmblks = libc_clamp(wide.usmblks),
        .fsmblks = libc_clamp(wide.fsmblks),
        .uordblks = libc_clamp(wide.uordblks),
        .fordblks = libc_clamp(wide.fordblks),
        .keepcost = libc_clamp(wide.keepcost),
    };
}

EXPORT int malloc_trim(size_t pad) {
    return lifecycle_forced() ? next_trim(pad) : purge_all() > 0;
}

EXPORT void malloc_stats(void) {
    if (lifecycle_forced()) {
        next_malloc_stats();
    } else {
        stats_print_summary();
    }
}

EXPORT int malloc_info(int flags, FILE *stream) {
    if (flags != 0) {
        return EINVAL;
    }
    struct next_info info = libc_mallinfo2();
    int printed = fprintf(stream,
                          "<malloc version=\"1\">\n"
                          "<total type=\"live\" size=\"%zu\"/>\n"
                          "<total type=\"rest\" size=\"%zu\"/>\n"
                          "<system type=\"current\" size=\"%zu\"/>\n"
                          "</malloc>\n",
                          info.uordblks, info.fordblks, info.arena + info.hblkhd);
    return printed < 0 ? -1 : 0;
}

/* The rows of exports.def that only name a function once more. */
#define EXPORTED_ALIAS(name, function) EXPORT __typeof__(function) name ALIAS_OF(function);
#include "exports.def"
