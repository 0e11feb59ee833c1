/*
 * injector.c: the function `syscall` that refuses calls for memory by plan; see injector.h.
 *
 * It may be the very first function of the process to run, before libc is initialised, and runs inside malloc:
 * it takes no lock, allocates nothing, and reaches the kernel by an instruction of its own.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "injector.h"
#include "../kernel_call.h"
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
    int planned; /* 0 until the environment was read */
    unsigned calls;
    unsigned long nth;
    unsigned per_mille;
    unsigned seed;
    unsigned long seen;
    unsigned long injected;
} plan;

static unsigned long number_in(const char *name) {
    const char *value = getenv(name);

    return value != NULL ? strtoul(value, NULL, 10) : 0;
}

static void plan_from_environment(void) {
    if (__atomic_load_n(&plan.planned, __ATOMIC_ACQUIRE) != 0 || environ == NULL)
        return;
    plan.nth = number_in("FAULT_NTH");
    plan.per_mille = (unsigned)number_in("FAULT_PER_MILLE");
    plan.seed = (unsigned)number_in("FAULT_SEED");
    plan.calls = (unsigned)number_in("FAULT_CALLS");
    __atomic_store_n(&plan.planned, 1, __ATOMIC_RELEASE);
}

static unsigned kind_of(long number) {
    switch (number) {
    case SYS_mmap:
        return FAULT_MMAP;
    case SYS_munmap:
        return FAULT_MUNMAP;
    case SYS_madvise:
        return FAULT_MADVISE;
    case SYS_mremap:
        return FAULT_MREMAP;
    default:
        return 0;
    }
}

static unsigned mix(uint64_t key) {
    key = (key ^ (key >> 31)) * 0x9e3779b97f4a7c15u;
    key = (key ^ (key >> 29)) * 0xbf58476d1ce4e5b9u;
    return (unsigned)(key >> 40);
}

static int refused(long number) {
    plan_from_environment();
    if ((kind_of(number) & __atomic_load_n(&plan.calls, __ATOMIC_ACQUIRE)) == 0)
        return 0;
    unsigned long turn = __atomic_add_fetch(&plan.seen, 1, __ATOMIC_RELAXED);
    int refuse = plan.nth != 0 ? turn == plan.nth
                               : mix((uint64_t)plan.seed << 32 | (uint32_t)turn) % 1000 < plan.per_mille;
    if (refuse)
        __atomic_add_fetch(&plan.injected, 1, __ATOMIC_RELAXED);
    return refuse;
}

long syscall(long number, ...) {
    long arguments[6];
    KERNEL_WORDS(arguments, number);
    long result = refused(number) ? -ENOMEM : kernel_call(number, arguments);
    return kernel_result(result);
}

void fault_arm(unsigned calls, unsigned long nth, unsigned per_mille, unsigned seed) {
    fault_disarm();
    plan.nth = nth;
    plan.per_mille = per_mille;
    plan.seed = seed;
    plan.seen = plan.injected = 0;
    __atomic_store_n(&plan.calls, calls, __ATOMIC_RELEASE);
}

void fault_disarm(void) {
    plan.planned = 1;
    __atomic_store_n(&plan.calls, 0, __ATOMIC_RELEASE);
}

unsigned long fault_seen(void) {
    return __atomic_load_n(&plan.seen, __ATOMIC_RELAXED);
}

unsigned long fault_injected(void) {
    return __atomic_load_n(&plan.injected, __ATOMIC_RELAXED);
}

__attribute__((destructor)) static void report(void) {
    const char *descriptor = getenv("FAULT_REPORT");
    char text[64];

    if (descriptor == NULL)
        return;
    int length = snprintf(text, sizeof text, "seen %lu injected %lu\n", fault_seen(), fault_injected());
    if (write(atoi(descriptor), text, (size_t)length) != length)
        _exit(1);
}
