#include "kernel.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>

#undef syscall
long syscall(long number, ...);
long kernel_syscall(long number, ...);

struct kernel kernel;

int kernel_reset(void **state) {
    (void)state;
    memset(&kernel, 0, sizeof kernel);
    return 0;
}

static bool kernel_refuses(struct kernel_call *call) {
    call->count++;
    if (call->refuse == 0)
        return false;
    if (call->refuse != ALWAYS)
        call->refuse--;
    return true;
}

static bool kernel_refuses_number(long number, void *start, size_t bytes) {
    switch (number) {
    case SYS_mmap:
        return kernel_refuses(&kernel.map) || (kernel.largest_map && bytes > kernel.largest_map);
    case SYS_munmap:
        if (kernel.before_unmap)
            kernel.before_unmap(start, bytes);
        return kernel_refuses(&kernel.unmap);
    case SYS_mremap:
        if (kernel.before_remap)
            kernel.before_remap(start, bytes);
        return kernel_refuses(&kernel.remap);
    case SYS_madvise:
        if (kernel.before_advise)
            kernel.before_advise(start, bytes);
        return kernel_refuses(&kernel.advise);
    default:
        return false;
    }
}

long kernel_syscall(long number, ...) {
    long words[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(arguments, long);
    va_end(arguments);
    if (kernel_refuses_number(number, (void *)words[0], (size_t)words[1])) {
        errno = ENOMEM;
        return -1;
    }
    return syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
