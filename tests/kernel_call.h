/* The way to the kernel of tests that stand in for libc's syscall(): by an instruction of their own, because they may run
 * before libc is initialised. */
#ifndef HAKMEM_TESTS_KERNEL_CALL_H
#define HAKMEM_TESTS_KERNEL_CALL_H

#include <errno.h>
#include <stdarg.h>

static inline long kernel_call(long number, const long a[6]) {
#if defined(__x86_64__)
    register long r10 __asm__("r10") = a[3], r8 __asm__("r8") = a[4], r9 __asm__("r9") = a[5];
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a[0], x1 __asm__("x1") = a[1];
    register long x2 __asm__("x2") = a[2], x3 __asm__("x3") = a[3], x4 __asm__("x4") = a[4],
                     x5 __asm__("x5") = a[5];

    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#else
#error "how to reach the kernel is known on x86-64 and aarch64"
#endif
}

/* Reads the six words of a call into `words`, in a function with variable arguments after `last`. */
#define KERNEL_WORDS(words, last)                                  \
    do {                                                           \
        va_list kernel_arguments;                                  \
        va_start(kernel_arguments, last);                          \
        for (int kernel_word = 0; kernel_word < 6; kernel_word++)  \
            (words)[kernel_word] = va_arg(kernel_arguments, long); \
        va_end(kernel_arguments);                                  \
    } while (0)

/* What the kernel answered, as libc's syscall() returns it. */
static inline long kernel_result(long result) {
    if (result < 0 && result > -4096) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

#endif
