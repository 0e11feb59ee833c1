/*
 * raw_exit: does a process end whose threads end without a word to libc, though the library has a thread of its own?
 *
 * Main allocates and frees until the janitor is there, and ends by the system call exit, with a status, or is killed by a filter of
 * system calls that ends one thread alone; so does a child of clone(2), of which libc knows nothing. What the parent waits for is what it
 * would be without the library. Such a child gets no thread of the library's; nor does one that shares the parent's memory, or says there that
 * a filter is to come, as children of vfork do, take it from the parent.
 */
#include "lifecycle.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { STATUS = 7, BLOCKS = 2000, SECONDS = 60, STACK = 256 << 10 };

static void allocate(void) {
    static void *blocks[BLOCKS];

    for (size_t i = 0; i < BLOCKS; i++) {
        CHECK((blocks[i] = malloc(i * 10 + 1)) != NULL);
        fill(blocks[i], i * 10 + 1, 'r');
    }
    for (size_t i = 0; i < BLOCKS; i++)
        free(blocks[i]);
}

static void die_by_filter(void) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
        syscall(SYS_getppid);
    syscall(SYS_exit, STATUS); /* there are no filters here */
}

/* glibc ends what it made by clone with the system call exit. */
static int cloned(void *unused) {
    (void)unused;
    allocate();
    return count_threads() <= 1 ? STATUS : STATUS + 1;
}

static int says_that_a_filter_comes(void *unused) {
    (void)unused;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? STATUS : STATUS + 1;
}

static int ended(pid_t pid) {
    int status = -1;

    CHECK(pid > 0);
    for (int ms = 0; waitpid(pid, &status, WNOHANG | __WALL) == 0; ms += 10) {
        struct timespec some = {0, 10000000};
        if (ms > SECONDS * 1000) {
            kill(pid, SIGKILL);
            CHECK(!"it ends");
        }
        nanosleep(&some, NULL);
    }
    return status;
}

static int child(void (*end)(void)) {
    pid_t pid = fork();

    if (pid == 0) {
        alarm(2 * SECONDS);
        allocate();
        end();
    }
    return ended(pid);
}

static void leave(void) {
    syscall(SYS_exit, STATUS);
}

int main(void) {
    static char stack[STACK] __attribute__((aligned(16)));
    int status;

    status = child(leave);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == STATUS);
    status = child(die_by_filter);
    CHECK(WIFSIGNALED(status) ? WTERMSIG(status) == SIGSYS : WEXITSTATUS(status) == STATUS);
    status = ended(clone(cloned, stack + STACK, SIGCHLD, NULL));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == STATUS);
    status = ended(clone(cloned, stack + STACK, CLONE_VM | SIGCHLD, NULL));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == STATUS);
    status = ended(clone(says_that_a_filter_comes, stack + STACK, CLONE_VM | SIGCHLD, NULL));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == STATUS);
    int threads = count_threads();
    allocate();
    CHECK(threads == 0 || count_threads() == 2);
    return 0;
}
