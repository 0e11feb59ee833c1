/*
 * strict_filter: a filter of system calls that kills for all but what libc's malloc and free need, set by prctl as sandboxes do (OpenSSH's
 * for the part of it that talks to strangers allows less than that).
 *
 * After the first block of all; after small and large work, in a process that had threads; in a child that clone(2) made; and for all threads at once, so that the
 * library's own is one of them if it is there still: all kinds of work go on. It is not asked whether
 * there is a filter, for it kills for that, too.
 */
#include "hostile.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <sys/syscall.h>

#define ABSURD ((size_t)1 << 46)
enum { BLOCKS = 2000, ROUNDS = 20, SMALL = 50000, LARGE = 50 << 20, LARGEST = 70000 };

static void forbid(bool all) {
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
        (all ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program)
             : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) != 0)
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

static pthread_barrier_t turns;

/* Sleep when the filter comes, one with a heap, one without. They never end: what libc does then is not allowed. */
static void *sleep_with_heap(void *forever) {
    for (size_t i = 0; i < BLOCKS; i++)
        CHECK(memset(malloc(100), 1, 100));
    pthread_barrier_wait(&turns);
    pthread_barrier_wait(&turns);
    free(memset(malloc(300), 1, 300));
    pthread_barrier_wait(&turns);
    pthread_barrier_wait(forever);
    return NULL;
}

static void *begin_late(void *forever) {
    pthread_barrier_wait(&turns);
    pthread_barrier_wait(&turns);
    free(memset(malloc(300), 1, 300));
    free(memset(malloc(LARGE), 1, LARGE));
    pthread_barrier_wait(&turns);
    pthread_barrier_wait(forever);
    return NULL;
}

static void make_sleepers(void) {
    static pthread_barrier_t forever;
    pthread_t sleeper;

    CHECK(pthread_barrier_init(&turns, NULL, 3) == 0 && pthread_barrier_init(&forever, NULL, 9) == 0);
    CHECK(pthread_create(&sleeper, NULL, sleep_with_heap, &forever) == 0);
    CHECK(pthread_create(&sleeper, NULL, begin_late, &forever) == 0);
    pthread_barrier_wait(&turns);
}

/* A process with memory of its own that libc knows nothing of, as sandboxes make it: the rest of the test is its. */
static void go_on_in_child(void) {
    long pid = syscall(SYS_clone, SIGCHLD, 0L, 0L, 0L, 0L);
    CHECK(pid >= 0);
    if (pid > 0) {
        await_child((pid_t)pid);
        work(5);
        _exit(0);
    }
}

int main(int argc, char **argv) {
    char *vector = NULL;

    const char *when = argc > 1 ? argv[1] : "first";
    bool child = strcmp(when, "child") == 0;

    if (child) {
        work(300);
        free(malloc(LARGE));
        go_on_in_child();
    } else if (strcmp(when, "first") != 0) {
        pthread_t thread;
        work(300);
        free(malloc(LARGE));
        CHECK(pthread_create(&thread, NULL, work_in_thread, NULL) == 0);
        join_thread(thread);
        make_sleepers();
        work(3);
    }
    free(malloc(1)); /* what reads options, and all that is read once */
    forbid(strcmp(when, "all") == 0);
    if (!child && strcmp(when, "first") != 0) {
        pthread_barrier_wait(&turns);
        pthread_barrier_wait(&turns);
    }
    work(11);
    malloc_trim(0);
    CHECK(malloc(ABSURD) == NULL && errno == ENOMEM);
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
