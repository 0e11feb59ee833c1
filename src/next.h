/* next: the allocator that stands behind ours (usually libc's), for HAKMEM_FORCE_LIBC_ALLOC.
 *
 * Owns a table of its entry points, found once by dlsym(RTLD_NEXT, ...): the same binary then measures
 * libc.
 *
 * P1  next_resolve survives a dlsym that allocates: while it runs, next_resolving() is true for this
 *     thread, and the caller serves malloc and calloc from hakmem itself. Such blocks stay ours and come
 *     back to our free.
 * P2  it returns false, and nothing of the table may be called, when one of the six basic entries is
 *     missing (a static program has no dlsym).
 * P3  an optional entry that is missing answers as an allocator without that service would.
 *
 * Called by lifecycle (next_resolve, once, before there are threads), by alloc and libc, and by janitor (the two for constructors). Never calls our
 * own entry points.
 */
#ifndef HAKMEM_NEXT_H
#define HAKMEM_NEXT_H

#include <stdbool.h>
#include <stddef.h>

bool next_resolve(void);
bool next_resolving(void);

/* What comes next of any name, also of no allocator's; NULL: nothing, or there is no dynamic linker. For constructors. */
const void *next_symbol(const char *name);

/* True in a program that was built for AddressSanitizer or ThreadSanitizer. For constructors. */
bool next_is_sanitized(void);

void *next_malloc(size_t size);
void *next_calloc(size_t count, size_t size);
void *next_realloc(void *block, size_t size);
void next_free(void *block);
void *next_aligned(size_t alignment, size_t size);
size_t next_usable_size(void *block);

int next_trim(size_t pad);
int next_mallopt(int parameter, int value);
/* What glibc's mallinfo2 returns (mallinfo(3)), by a name of its own: glibc before 2.33 and musl have no such struct. */
struct next_info {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

struct next_info next_mallinfo2(void);
void next_malloc_stats(void);

#endif
