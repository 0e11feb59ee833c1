/*
 * calls.h: counts the system calls for memory, from inside the process and for any allocator.
 *
 * A seccomp filter turns each mmap, munmap, mremap, madvise, mprotect, brk, mincore and pread64 into a signal; its handler counts the
 * call and makes it, from the one instruction that the filter lets through. What the library says of itself
 * (HAKMEM_SS_OS_STATS) is not asked, so that a call it forgets to count is counted all the same.
 *
 *   calls_start()           from here on calls are counted, in all threads started later. SKIP where it cannot be.
 *   calls_now()             the counts up to now
 *   calls_between(a, b)     how many calls lie between of all kinds but the two that change nothing
 *   calls_asked(a, b)       how many calls of mincore, or in its place of pread64: under a filter that hakmem finds, as this one, it reads
 *                           /proc/self/pagemap, and a bar on mincore alone would hold nothing
 */
#ifndef HAKMEM_TESTS_BARS_CALLS_H
#define HAKMEM_TESTS_BARS_CALLS_H

#include "bars.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

enum {
    CALLS_KINDS = 8,
    CALLS_CHANGE = 6 /* ... of which so many change something, and the others only ask */
};

static const char *const calls_names[CALLS_KINDS] = {"mmap",     "munmap", "mremap",  "madvise",
                                                     "mprotect", "brk",    "mincore", "pread64"};
static const long calls_numbers[CALLS_KINDS] = {SYS_mmap,     SYS_munmap, SYS_mremap,  SYS_madvise,
                                                SYS_mprotect, SYS_brk,    SYS_mincore, SYS_pread64};

struct calls {
    unsigned long of[CALLS_KINDS];
};

static struct calls calls_made;

static inline struct calls calls_now(void) {
    struct calls now;

    for (int kind = 0; kind < CALLS_KINDS; kind++)
        now.of[kind] = __atomic_load_n(&calls_made.of[kind], __ATOMIC_RELAXED);
    return now;
}

static inline unsigned long calls_between(const struct calls *from, const struct calls *to) {
    unsigned long sum = 0;

    for (int kind = 0; kind < CALLS_CHANGE; kind++)
        sum += to->of[kind] - from->of[kind];
    return sum;
}

static inline unsigned long calls_asked(const struct calls *from, const struct calls *to) {
    unsigned long sum = 0;

    for (int kind = CALLS_CHANGE; kind < CALLS_KINDS; kind++)
        sum += to->of[kind] - from->of[kind];
    return sum;
}

static inline void calls_print(const struct calls *from, const struct calls *to) {
    for (int kind = 0; kind < CALLS_KINDS; kind++)
        if (to->of[kind] != from->of[kind])
            printf(" %s %lu", calls_names[kind], to->of[kind] - from->of[kind]);
}

#ifdef __x86_64__
/* long calls_make(long number, a, b, c, d, e, f): a system call from the instruction before calls_made_here. */
__asm__(".text\n"
        ".type calls_make, @function\n"
        "calls_make:\n"
        "    mov %rdi, %rax\n"
        "    mov %rsi, %rdi\n"
        "    mov %rdx, %rsi\n"
        "    mov %rcx, %rdx\n"
        "    mov %r8, %r10\n"
        "    mov %r9, %r8\n"
        "    mov 8(%rsp), %r9\n"
        "    syscall\n"
        "calls_made_here:\n"
        "    ret\n"
        ".size calls_make, . - calls_make\n");
long calls_make(long number, long a, long b, long c, long d, long e, long f);
extern const char calls_made_here[];

static void calls_count(int signal_number, siginfo_t *info, void *context) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;

    (void)signal_number;
    for (int kind = 0; kind < CALLS_KINDS; kind++)
        if (info->si_syscall == calls_numbers[kind])
            __atomic_fetch_add(&calls_made.of[kind], 1, __ATOMIC_RELAXED);
    registers[REG_RAX] =
        calls_make(info->si_syscall, registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                   registers[REG_R10], registers[REG_R8], registers[REG_R9]);
}

static inline void calls_start(void) {
    uint64_t here = (uint64_t)(uintptr_t)calls_made_here;
    unsigned nr = offsetof(struct seccomp_data, nr), ip = offsetof(struct seccomp_data, instruction_pointer);
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_NODEFER};
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, nr),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 8, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_munmap, 7, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mremap, 6, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 5, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mincore, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pread64, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_brk, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ip),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)here, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ip + 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(here >> 32), 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof program / sizeof program[0], program};

    action.sa_sigaction = calls_count;
    CHECK(sigaction(SIGSYS, &action, NULL) == 0);
    /* Not by the library's prctl: it would make no call that a filter could mind from then on, and have other bars. */
    if (syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        skip("the kernel takes no seccomp filter");
    struct calls before = calls_now();
    CHECK(syscall(SYS_madvise, NULL, 0, 0) == 0);
    struct calls after = calls_now();
    CHECK(calls_between(&before, &after) == 1);
}
#else
static inline void calls_start(void) {
    skip("system calls are counted on x86-64 only");
}
#endif

#endif
