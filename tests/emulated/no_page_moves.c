/* Stands before libc's syscall() where the tests run in qemu's user mode: that takes the old range of an
 * mremap(MREMAP_DONTUNMAP) for unmapped, which the kernel does not, so that the next access to it ends the program.
 * Here the call is refused with EINVAL, as kernels before 5.7 do. */
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>

enum { DONT_UNMAP = 4 };

static long kernel(long number, long a, long b, long c, long d, long e, long f) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}

long syscall(long number, ...) {
    long argument[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        argument[i] = va_arg(arguments, long);
    va_end(arguments);
    long result =
        number == SYS_mremap && (argument[3] & DONT_UNMAP)
            ? -EINVAL
            : kernel(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
    if (result >= 0 || result < -4095)
        return result;
    errno = (int)-result;
    return -1;
}
