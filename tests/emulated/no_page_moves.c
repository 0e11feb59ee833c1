/* Stands before libc's syscall() where the tests run in qemu's user mode: that takes the old range of an
 * mremap(MREMAP_DONTUNMAP) for unmapped, which the kernel does not, so that the next access to it ends the program.
 * Here the call is refused with EINVAL, as kernels before 5.7 do. */
#include "../kernel_call.h"

#include <sys/syscall.h>

enum { DONT_UNMAP = 4 };

long syscall(long number, ...) {
    long a[6];
    KERNEL_WORDS(a, number);
    return kernel_result(number == SYS_mremap && (a[3] & DONT_UNMAP) ? -EINVAL : kernel_call(number, a));
}
