/* next: see next.h. dlsym is a weak reference, so that a fully static program links without it. */
#include "base.h"
#include "next.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

extern __typeof__(dlsym) dlsym WEAK;

/* NEXT(field, "symbol", result, parameters, basic) */
#define NEXT_TABLE                                                  \
    NEXT(malloc, "malloc", void *, (size_t), true)                  \
    NEXT(calloc, "calloc", void *, (size_t, size_t), true)          \
    NEXT(realloc, "realloc", void *, (void *, size_t), true)        \
    NEXT(free, "free", void, (void *), true)                        \
    NEXT(aligned, "memalign", void *, (size_t, size_t), true)       \
    NEXT(usable_size, "malloc_usable_size", size_t, (void *), true) \
    NEXT(trim, "malloc_trim", int, (size_t), false)                 \
    NEXT(mallopt, "mallopt", int, (int, int), false)                \
    NEXT(mallinfo2, "mallinfo2", struct next_info, (void), false)   \
    NEXT(malloc_stats, "malloc_stats", void, (void), false)

static struct {
#define NEXT(field, symbol, result, parameters, basic) result(*field) parameters;
    NEXT_TABLE
#undef NEXT
} next_table;

static THREAD_LOCAL bool next_busy;

/* NULL also where there is no dlsym. Keeps errno. libc declares that it never calls back (leaf), but it may call our malloc, which reads next_busy: through a
 * volatile pointer the compiler has to believe in that call. */
static void *next_look_up(void *from, const char *symbol) {
    void *(*volatile look_up)(void *, const char *) = dlsym;
    int kept = errno;
    void *address = look_up != NULL ? look_up(from, symbol) : NULL;
    errno = kept;
    return address;
}

/* Stores the address of `symbol` into *slot, a pointer to a function; false when there is none. */
static bool next_find(void *slot, const char *symbol) {
    void *address = next_look_up(RTLD_NEXT, symbol);
    memcpy(slot, &address, sizeof address);
    return address != NULL;
}

bool next_resolve(void) {
    bool complete = true;
    next_busy = true;
#define NEXT(field, symbol, result, parameters, basic)  \
    if (!next_find(&next_table.field, symbol) && basic) \
        complete = false;
    NEXT_TABLE
#undef NEXT
    next_busy = false;
    return complete;
}

COLD const void *next_symbol(const char *name) {
    return next_look_up(RTLD_NEXT, name);
}

COLD bool next_is_sanitized(void) {
    return next_look_up(RTLD_DEFAULT, "__asan_init") || next_look_up(RTLD_DEFAULT, "__tsan_init");
}

bool next_resolving(void) {
    return next_busy;
}

void *next_malloc(size_t size) {
    return next_table.malloc(size);
}

void *next_calloc(size_t count, size_t size) {
    return next_table.calloc(count, size);
}

void *next_realloc(void *block, size_t size) {
    return next_table.realloc(block, size);
}

void next_free(void *block) {
    next_table.free(block);
}

void *next_aligned(size_t alignment, size_t size) {
    return next_table.aligned(alignment, size);
}

size_t next_usable_size(void *block) {
    return next_table.usable_size(block);
}

int next_trim(size_t pad) {
    return next_table.trim != NULL ? next_table.trim(pad) : 0;
}

int next_mallopt(int parameter, int value) {
    return next_table.mallopt != NULL ? next_table.mallopt(parameter, value) : 0;
}

struct next_info next_mallinfo2(void) {
    static const struct next_info nothing;
    return next_table.mallinfo2 != NULL ? next_table.mallinfo2() : nothing;
}

void next_malloc_stats(void) {
    if (next_table.malloc_stats != NULL)
        next_table.malloc_stats();
}
