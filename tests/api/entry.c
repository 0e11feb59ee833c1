#define _GNU_SOURCE
#include "entry.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct entry entries[] = {
    {"malloc", ENTRY_PLAIN, NULL},
    {"__libc_malloc", ENTRY_PLAIN, NULL},
    {"hakmem_malloc", ENTRY_PLAIN, NULL},
    {"calloc", ENTRY_COUNTED, NULL},
    {"__libc_calloc", ENTRY_COUNTED, NULL},
    {"hakmem_calloc", ENTRY_COUNTED, NULL},
    {"realloc", ENTRY_RESIZE, NULL},
    {"__libc_realloc", ENTRY_RESIZE, NULL},
    {"hakmem_realloc", ENTRY_RESIZE, NULL},
    {"reallocarray", ENTRY_RESIZE_ARRAY, NULL},
    {"__libc_reallocarray", ENTRY_RESIZE_ARRAY, NULL},
    {"hakmem_reallocarray", ENTRY_RESIZE_ARRAY, NULL},
    {"aligned_alloc", ENTRY_ALIGNED, NULL},
    {"hakmem_aligned_alloc", ENTRY_ALIGNED, NULL},
    {"memalign", ENTRY_ALIGNED, NULL},
    {"__libc_memalign", ENTRY_ALIGNED, NULL},
    {"posix_memalign", ENTRY_STORED, NULL},
    {"__posix_memalign", ENTRY_STORED, NULL},
    {"hakmem_posix_memalign", ENTRY_STORED, NULL},
    {"valloc", ENTRY_PAGE, NULL},
    {"__libc_valloc", ENTRY_PAGE, NULL},
    {"pvalloc", ENTRY_PAGES, NULL},
    {"__libc_pvalloc", ENTRY_PAGES, NULL},
    {"_Znwm", ENTRY_NEW, NULL},
    {"_Znam", ENTRY_NEW, NULL},
    {"_ZnwmRKSt9nothrow_t", ENTRY_NEW_NOTHROW, NULL},
    {"_ZnamRKSt9nothrow_t", ENTRY_NEW_NOTHROW, NULL},
    {"_ZnwmSt11align_val_t", ENTRY_NEW_ALIGNED, NULL},
    {"_ZnamSt11align_val_t", ENTRY_NEW_ALIGNED, NULL},
    {"_ZnwmSt11align_val_tRKSt9nothrow_t", ENTRY_NEW_ALIGNED_NOTHROW, NULL},
    {"_ZnamSt11align_val_tRKSt9nothrow_t", ENTRY_NEW_ALIGNED_NOTHROW, NULL},
};
const size_t entry_count = sizeof entries / sizeof entries[0];

struct leave leaves[] = {
    {"free", LEAVE_PLAIN, NULL},
    {"cfree", LEAVE_PLAIN, NULL},
    {"__libc_free", LEAVE_PLAIN, NULL},
    {"__libc_cfree", LEAVE_PLAIN, NULL},
    {"hakmem_free", LEAVE_PLAIN, NULL},
    {"free_sized", LEAVE_SIZED, NULL},
    {"hakmem_free_sized", LEAVE_SIZED, NULL},
    {"free_aligned_sized", LEAVE_ALIGNED_SIZED, NULL},
    {"hakmem_free_aligned_sized", LEAVE_ALIGNED_SIZED, NULL},
    {"realloc", LEAVE_RESIZE, NULL},
    {"__libc_realloc", LEAVE_RESIZE, NULL},
    {"hakmem_realloc", LEAVE_RESIZE, NULL},
    {"_ZdlPv", LEAVE_PLAIN, NULL},
    {"_ZdaPv", LEAVE_PLAIN, NULL},
    {"_ZdlPvm", LEAVE_SIZED, NULL},
    {"_ZdaPvm", LEAVE_SIZED, NULL},
    {"_ZdlPvRKSt9nothrow_t", LEAVE_NOTHROW, NULL},
    {"_ZdaPvRKSt9nothrow_t", LEAVE_NOTHROW, NULL},
    {"_ZdlPvSt11align_val_t", LEAVE_ALIGNED, NULL},
    {"_ZdaPvSt11align_val_t", LEAVE_ALIGNED, NULL},
    {"_ZdlPvmSt11align_val_t", LEAVE_SIZED_ALIGNED, NULL},
    {"_ZdaPvmSt11align_val_t", LEAVE_SIZED_ALIGNED, NULL},
    {"_ZdlPvSt11align_val_tRKSt9nothrow_t", LEAVE_ALIGNED, NULL},
    {"_ZdaPvSt11align_val_tRKSt9nothrow_t", LEAVE_ALIGNED, NULL},
};
const size_t leave_count = sizeof leaves / sizeof leaves[0];

static size_t (*usable_size)(void *block);

/* What std::nothrow is to the operators: an address. */
static const char nothrow_tag;

const char *entry_find_all(void) {
    for (size_t i = 0; i < entry_count; i++) {
        if ((entries[i].function = dlsym(RTLD_DEFAULT, entries[i].name)) == NULL) {
            return entries[i].name;
        }
    }
    for (size_t i = 0; i < leave_count; i++) {
        if ((leaves[i].function = dlsym(RTLD_DEFAULT, leaves[i].name)) == NULL) {
            return leaves[i].name;
        }
    }
    void *found = dlsym(RTLD_DEFAULT, "malloc_usable_size");
    memcpy(&usable_size, &found, sizeof found);
    return usable_size == NULL ? "malloc_usable_size" : NULL;
}

/* Counted entries get a real product whenever the size is a multiple of three. */
static size_t count_of(size_t size) {
    return size % 3 == 0 && size != 0 ? 3 : 1;
}

static void *call_stored(void *function, size_t alignment, size_t size) {
    int (*stored)(void **, size_t, size_t);
    memcpy(&stored, &function, sizeof function);
    void *untouched = &usable_size;
    void *block = untouched;
    int before = errno;
    int error = stored(&block, alignment, size);
    if (errno != before || (error != 0 && block != untouched)) {
        fprintf(stderr, "posix_memalign changed errno, or its result when it failed\n");
        return untouched; /* no alignment that is tested suits it: the caller's checks fail */
    }
    if (error != 0) {
        errno = error;
        return NULL;
    }
    return block;
}

void *entry_allocate(const struct entry *entry, size_t alignment, size_t size) {
    union {
        void *object;
        void *(*one)(size_t);
        void *(*two)(size_t, size_t);
        void *(*resize)(void *, size_t);
        void *(*resize_array)(void *, size_t, size_t);
        void *(*nothrow)(size_t, const void *);
        void *(*aligned_nothrow)(size_t, size_t, const void *);
    } f = {entry->function};
    switch (entry->kind) {
    case ENTRY_PLAIN:
    case ENTRY_PAGE:
    case ENTRY_PAGES:
    case ENTRY_NEW:
        return f.one(size);
    case ENTRY_COUNTED:
        return f.two(count_of(size), size / count_of(size));
    case ENTRY_RESIZE:
        return f.resize(NULL, size);
    case ENTRY_RESIZE_ARRAY:
        return f.resize_array(NULL, count_of(size), size / count_of(size));
    case ENTRY_ALIGNED:
        return f.two(alignment, size);
    case ENTRY_STORED:
        return call_stored(entry->function, alignment, size);
    case ENTRY_NEW_NOTHROW:
        return f.nothrow(size, &nothrow_tag);
    case ENTRY_NEW_ALIGNED:
        return f.two(size, alignment);
    case ENTRY_NEW_ALIGNED_NOTHROW:
        return f.aligned_nothrow(size, alignment, &nothrow_tag);
    }
    return NULL;
}

bool entry_takes_alignment(const struct entry *entry) {
    return entry->kind == ENTRY_ALIGNED || entry->kind == ENTRY_STORED || entry->kind == ENTRY_NEW_ALIGNED ||
           entry->kind == ENTRY_NEW_ALIGNED_NOTHROW;
}

bool entry_throws(const struct entry *entry) {
    return entry->kind == ENTRY_NEW || entry->kind == ENTRY_NEW_ALIGNED;
}

size_t entry_least_alignment(const struct entry *entry) {
    return entry->kind == ENTRY_STORED ? sizeof(void *) : 1;
}

void leave_free(const struct leave *leave, void *block, size_t alignment, size_t size) {
    union {
        void *object;
        void (*one)(void *);
        void (*two)(void *, size_t);
        void (*three)(void *, size_t, size_t);
        void (*nothrow)(void *, const void *);
        void *(*resize)(void *, size_t);
    } f = {leave->function};
    switch (leave->kind) {
    case LEAVE_PLAIN:
        f.one(block);
        break;
    case LEAVE_SIZED:
        f.two(block, size);
        break;
    case LEAVE_ALIGNED:
        f.two(block, alignment);
        break;
    case LEAVE_ALIGNED_SIZED:
        f.three(block, alignment, size);
        break;
    case LEAVE_SIZED_ALIGNED:
        f.three(block, size, alignment);
        break;
    case LEAVE_NOTHROW:
        f.nothrow(block, &nothrow_tag);
        break;
    case LEAVE_RESIZE:
        f.resize(block, 0);
        break;
    }
}

size_t entry_usable_size(void *block) {
    return usable_size(block);
}
