/*
 * seccomp: does the library live with a filter that allows only what libc's malloc and a plain program need?
 *
 * Everything else answers EPERM in one run and ENOSYS in another: all advice but MADV_DONTNEED, getrandom,
 * getrusage, prctl, clock_gettime, sched_yield, membarrier, futex operations beyond wait and wake ... The worker
 * first proves that the filter is in force, then uses the heap in four threads and leaves with all reports.
 * SKIP where the kernel has no filters.
 */
#include "hostile.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static int answer;

static const unsigned allowed[] = {
    SYS_brk,
    SYS_mmap,
    SYS_munmap,
    SYS_mprotect,
    SYS_mremap,
    SYS_read,
    SYS_write,
    SYS_writev,
    SYS_close,
    SYS_openat,
    SYS_lseek,
    SYS_fstat,
    SYS_newfstatat,
    SYS_faccessat,
    SYS_pread64,
    SYS_execve,
    SYS_exit,
    SYS_exit_group,
    SYS_gettid,
    SYS_getpid,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_prlimit64,
    SYS_clone,
    SYS_clone3,
    SYS_rt_sigaction,
    SYS_rt_sigreturn,
    SYS_rt_sigprocmask,
    SYS_tgkill,
    SYS_set_tid_address,
    SYS_readlinkat,
#ifdef SYS_arch_prctl
    SYS_arch_prctl,
    SYS_access,
    SYS_readlink,
#endif
};

static struct sock_filter program[200];
static unsigned short length;

static void put(unsigned short code, unsigned char if_true, unsigned char if_false, unsigned k) {
    program[length++] = (struct sock_filter){code, if_true, if_false, k};
}

static void load(size_t offset) {
    put(BPF_LD | BPF_W | BPF_ABS, 0, 0, (unsigned)offset);
}

/* Allows the call `number` when its argument, masked, is one of the values. */
static void allow_when(unsigned number, unsigned argument, unsigned mask, const unsigned *values,
                       unsigned count) {
    put(BPF_JMP | BPF_JEQ | BPF_K, 0, (unsigned char)(3 + count * 2), number);
    load(offsetof(struct seccomp_data, args) + 8 * argument);
    put(BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
    for (unsigned i = 0; i < count; i++) {
        put(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, values[i]);
        put(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
    }
    put(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | (unsigned)answer);
}

static void install(void) {
    static const unsigned advice[] = {MADV_DONTNEED};
    static const unsigned operations[] = {FUTEX_WAIT, FUTEX_WAKE, FUTEX_WAIT_BITSET};

    load(offsetof(struct seccomp_data, nr));
    allow_when(SYS_madvise, 2, ~0u, advice, 1);
    allow_when(SYS_futex, 1, 127, operations, 3);
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
        put(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, allowed[i]);
        put(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
    }
    put(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | (unsigned)answer);
    struct sock_fprog filter = {length, program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        skip("the kernel takes no seccomp filter");
}

int main(int argc, char **argv) {
    static const char *const eperm[] = {"EXPECTED=1", NULL}, *const enosys[] = {"EXPECTED=38", NULL};
    static const char *const reports[] = {"EXPECTED=1",       "HAKMEM_STATS=1",     "HAKMEM_SS_OS_STATS=1",
                                          "HAKMEM_VERBOSE=1", "HAKMEM_KEEP_FREE=0", NULL};

    if (is_worker(argc, argv)) {
        CHECK(syscall(SYS_getrusage, 0, NULL) == -1 && errno == atoi(getenv("EXPECTED")));
        CHECK(syscall(SYS_madvise, NULL, 0, MADV_FREE) == -1 && errno == atoi(getenv("EXPECTED")));
        use_heap();
        return 0;
    }
    answer = EPERM;
    run_worker(eperm, install);
    run_worker(reports, install);
    answer = ENOSYS;
    run_worker(enosys, install);
    return 0;
}
