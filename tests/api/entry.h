/* entry: every way into and out of the library, as two tables that the API tests walk.
 *
 * The functions are looked up by name at run time, so that one source tests the preloaded library, the linked
 * library and the archive, and so that a missing name is a failed test and not a failed link.
 */
#ifndef HAKMEM_TESTS_API_ENTRY_H
#define HAKMEM_TESTS_API_ENTRY_H

#include <stdbool.h>
#include <stddef.h>

enum entry_kind {
    ENTRY_PLAIN,               /* f(size) */
    ENTRY_COUNTED,             /* f(count, size), zeroed */
    ENTRY_RESIZE,              /* f(NULL, size) */
    ENTRY_RESIZE_ARRAY,        /* f(NULL, count, size) */
    ENTRY_ALIGNED,             /* f(alignment, size) */
    ENTRY_STORED,              /* error = f(&block, alignment, size) */
    ENTRY_PAGE,                /* f(size), page aligned */
    ENTRY_PAGES,               /* f(size), page aligned, whole pages */
    ENTRY_NEW,                 /* f(size), throws */
    ENTRY_NEW_NOTHROW,         /* f(size, nothrow) */
    ENTRY_NEW_ALIGNED,         /* f(size, alignment), throws */
    ENTRY_NEW_ALIGNED_NOTHROW, /* f(size, alignment, nothrow) */
};

struct entry {
    const char *name;
    enum entry_kind kind;
    void *function;
};

enum leave_kind {
    LEAVE_PLAIN,         /* f(block) */
    LEAVE_SIZED,         /* f(block, size) */
    LEAVE_ALIGNED_SIZED, /* f(block, alignment, size) */
    LEAVE_SIZED_ALIGNED, /* f(block, size, alignment) */
    LEAVE_ALIGNED,       /* f(block, alignment) */
    LEAVE_NOTHROW,       /* f(block, nothrow) */
    LEAVE_RESIZE,        /* f(block, 0) returns NULL */
};

struct leave {
    const char *name;
    enum leave_kind kind;
    void *function;
};

extern struct entry entries[];
extern const size_t entry_count;
extern struct leave leaves[];
extern const size_t leave_count;

/* Finds every function; the name of one that is missing, or NULL. */
const char *entry_find_all(void);

/* Allocates; kinds without an alignment ignore it. ENTRY_STORED puts its error in errno, as the others do. */
void *entry_allocate(const struct entry *entry, size_t alignment, size_t size);

bool entry_takes_alignment(const struct entry *entry);
bool entry_throws(const struct entry *entry);

/* The least alignment that is legal for this entry. */
size_t entry_least_alignment(const struct entry *entry);

void leave_free(const struct leave *leave, void *block, size_t alignment, size_t size);

/* malloc_usable_size of the library under test. */
size_t entry_usable_size(void *block);

#endif
