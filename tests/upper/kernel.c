#define _GNU_SOURCE
#include "kernel.h"
#include "../kernel_call.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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
        return kernel_refuses(&kernel.map) || (kernel.largest_map && bytes > kernel.largest_map) ||
               bytes < kernel.smallest_map;
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
    case SYS_membarrier:
        kernel.barriers++;
        return false;
    default:
        return false;
    }
}

/* Whether the range lies within one line of /proc/self/maps. */
static bool kernel_is_one_area(unsigned long from, unsigned long bytes) {
    unsigned long start, end;
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && !found && fscanf(maps, "%lx-%lx%*[^\n]", &start, &end) == 2)
        found = start <= from && from < end && bytes <= end - from;
    if (maps)
        fclose(maps);
    return found;
}

/* As kernels before 6.17: a target is unmapped before they find out that they do not move several areas at once. */
static bool kernel_cannot_move(const long words[6]) {
    if (!(words[3] & MREMAP_FIXED) || kernel_is_one_area((unsigned long)words[0], (unsigned long)words[1]))
        return false;
    syscall(SYS_munmap, words[4], words[2]);
    errno = EFAULT;
    return true;
}

long kernel_syscall(long number, ...) {
    long words[6];
    KERNEL_WORDS(words, number);
    if (kernel_refuses_number(number, (void *)words[0], (size_t)words[1])) {
        errno = ENOMEM;
        return -1;
    }
    if (number == SYS_mremap && kernel_cannot_move(words))
        return -1;
    if (number == SYS_mmap && !(words[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE)) && getenv("KERNEL_BEYOND"))
        words[0] = 0; /* wherever it likes */
    return syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
