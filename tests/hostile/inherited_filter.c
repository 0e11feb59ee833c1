/*
 * inherited_filter: a filter of system calls that was set before the program began, as systemd sets it for a service (SystemCallFilter=).
 *
 * It kills for calls that the set @system-service does not have, though it asks for no more than what servers use: mincore is one of them. No prctl of
 * this process tells of it, so the library has to ask. All kinds of work, threads, what rests and goes home, growth beyond where it matters which
 * pages are in memory.
 */
#include "hostile.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <stddef.h>
#include <sys/syscall.h>

enum { TEXTS = 200000, ARRAYS = 40, ARRAY = 300000, ROUNDS = 3 };

static void forbid(void) {
    static const unsigned killing[] = {SYS_mincore,     SYS_process_madvise, SYS_process_vm_readv,
                                       SYS_userfaultfd, SYS_perf_event_open, SYS_ptrace,
                                       SYS_unshare,     SYS_personality,     SYS_mbind};
    enum { COUNT = sizeof killing / sizeof *killing };
    struct sock_filter rules[2 * COUNT + 2] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    struct sock_fprog program = {2 * COUNT + 2, rules};

    for (size_t i = 0; i < COUNT; i++) {
        rules[1 + 2 * i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, killing[i], 0, 1);
        rules[2 + 2 * i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    }
    rules[2 * COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        skip("there are no filters of system calls here");
}

/* Some MiB of small blocks, of medium ones, and of arrays, which are written whole. */
static void grow(void) {
    static char *texts[TEXTS];
    static unsigned char *arrays[ARRAYS];

    for (size_t i = 0; i < TEXTS; i++)
        CHECK((texts[i] = memset(malloc(20 + i % 200), 't', 20)) != NULL);
    for (size_t i = 0; i < ARRAYS; i++)
        fill(arrays[i] = malloc(ARRAY + i * 1000), ARRAY, 'a');
    for (size_t i = 0; i < TEXTS; i++)
        free(texts[i]);
    for (size_t i = 0; i < ARRAYS; i++)
        free(arrays[i]);
    for (size_t size = 20000; size < (size_t)8 << 20; size += size / 3) {
        unsigned char *block = malloc(size);
        CHECK(block != NULL);
        fill(block, size, 'b');
        free(block);
    }
}

int main(int argc, char **argv) {
    static const char *const usual[] = {"HAKMEM_PURGE_DELAY=10", NULL}, *const lean[] = {
                                                                            "HAKMEM_PROFILE=lean", NULL};

    if (is_worker(argc, argv)) {
        CHECK(prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER);
        for (int round = 0; round < ROUNDS; round++) {
            grow();
            use_heap();
            usleep(50000); /* what rests goes home */
        }
        if (!getenv("HAKMEM_PROFILE"))
            see_rest_go_home(); /* where the program has made a thread, the library may, too */
        return 0;
    }
    run_worker(usual, forbid);
    run_worker(lean, forbid);
    return 0;
}
