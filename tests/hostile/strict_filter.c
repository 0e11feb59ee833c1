/*
 * strict_filter: a filter of system calls that kills for all but what libc's malloc and free need, set by prctl as sandboxes do (OpenSSH's
 * for the part of it that talks to strangers allows less than that).
 *
 * With any options, after small and large work, in a process that had threads or not: all kinds of work go on. It is not asked whether
 * there is a filter, for it kills for that, too.
 */
#include "hostile.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

enum { BLOCKS = 2000, ROUNDS = 20, SMALL = 50000, LARGE = 50 << 20, LARGEST = 70000 };

static void forbid(void) {
    static const int allowed[] = {SYS_read, SYS_write,      SYS_mmap,        SYS_munmap,
                                  SYS_brk,  SYS_mremap,     SYS_madvise,     SYS_futex,
                                  SYS_exit, SYS_exit_group, SYS_rt_sigreturn};
    enum { COUNT = sizeof allowed / sizeof *allowed };
    struct sock_filter rules[2 * COUNT + 2] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0)};
    struct sock_fprog program = {2 * COUNT + 2, rules};

    for (size_t i = 0; i < COUNT; i++) {
        rules[1 + 2 * i] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1);
        rules[2 + 2 * i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    rules[2 * COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        skip("there are no filters of system calls here");
}

static void work(size_t factor) {
    static unsigned char *blocks[BLOCKS];

    for (size_t i = 0; i < BLOCKS; i++) {
        size_t size = i * factor % LARGEST + 1;
        CHECK((blocks[i] = malloc(size)) != NULL);
        fill(blocks[i], size, (unsigned char)i);
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        verify(blocks[i], i * factor % LARGEST + 1, (unsigned char)i);
        free(blocks[i]);
    }
}

static void *work_in_thread(void *unused) {
    work(7);
    return unused;
}

int main(int argc, char **argv) {
    char *vector = NULL;

    if (argc > 1 && strcmp(argv[1], "after") == 0) {
        pthread_t thread;
        work(300);
        free(malloc(LARGE));
        CHECK(pthread_create(&thread, NULL, work_in_thread, NULL) == 0);
        join_thread(thread);
    }
    work(3);
    forbid();
    work(11);
    for (size_t i = 0; i < SMALL; i++)
        CHECK(memset(malloc(300), 1, 300));
    for (size_t size = 1000; size < LARGE; size *= 2) {
        CHECK((vector = realloc(vector, size)) != NULL);
        fill((unsigned char *)vector, size, 'v');
    }
    free(vector);
    for (size_t round = 0; round < ROUNDS; round++) {
        work(round + 17);
        free(calloc(1, LARGE / (round + 1)));
    }
    _exit(0);
}
