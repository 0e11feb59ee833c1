/* libc, what only the shared library has: a program without a dynamic linker, which may have the archive, keeps libc's. */
#include "libc.h"

#include "base.h"
#include "lifecycle.h"

#include <dlfcn.h>
#include <stdatomic.h>

/* A library that is opened with RTLD_DEEPBIND finds libc's malloc and free before ours, while what libc and all others
 * give it is ours: it would free that into libc's heap. So the flag is left out. The last call must be a jump: libc looks
 * at the return address to learn who opens, whose RUNPATH counts. */
EXPORT void *dlopen(const char *file, int mode) {
    typedef void *function(const char *, int);
    static _Atomic(function *) libc_next; /* relaxed: pairs with nothing, whoever looks finds the same */
    function *next = atomic_load_explicit(&libc_next, memory_order_relaxed);
    if (next == NULL) {
        next = (function *)(uintptr_t)dlsym(RTLD_NEXT, "dlopen");
        if (next == NULL)
            return NULL; /* dlerror knows why */
        atomic_store_explicit(&libc_next, next, memory_order_relaxed);
    }
    return next(file, lifecycle_forced() ? mode : mode & ~RTLD_DEEPBIND);
}
