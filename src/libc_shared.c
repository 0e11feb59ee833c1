/* libc, what only the shared library has: a program without a dynamic linker, which may have the archive, keeps libc's. */
#include "libc.h"

#include "base.h"
#include "janitor.h"
#include "lifecycle.h"
#include "os.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEEPBIND 8       /* RTLD_DEEPBIND of glibc; musl has no such flag */
#define SECCOMP_STRICT 1 /* linux/seccomp.h */

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
    return next(file, lifecycle_forced() ? mode : mode & ~DEEPBIND);
}

/* A filter of system calls may kill for any call that asks whether there is one. Who sets one says so here first: libseccomp, and whoever may
 * not do without, by giving up new privileges. As libc's, which passes on five words. */
EXPORT int prctl(int option, ...) {
    unsigned long words[4];
    va_list list;
    va_start(list, option);
    for (unsigned i = 0; i < 4; i++)
        words[i] = va_arg(list, unsigned long);
    va_end(list);
    if (option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS)
        janitor_note_filter();
    /* The processor's counter is forbidden, by mode 1 of filters, too. */
    if ((option == PR_SET_TSC && words[0] == PR_TSC_SIGSEGV) ||
        (option == PR_SET_SECCOMP && words[0] == SECCOMP_STRICT))
        os_note_no_clock();
    return (int)syscall(SYS_prctl, (long)option, words[0], words[1], words[2], words[3]);
}
