/*
 * barriers: is the kernel ready for barriers in all threads before there is a second one?
 *
 * Later it takes milliseconds, in which a process cannot end. membarrier(2) refuses a barrier that nobody has asked for beforehand. Twice: where
 * the first block comes before the first thread, and where pthread_create itself needs it.
 */
#include "lifecycle.h"

#include <linux/membarrier.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static void *volatile block;

static void check_ready(void) {
    CHECK(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0);
}

static void *in_thread(void *unused) {
    check_ready();
    return unused;
}

static void begin_thread(void) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, in_thread, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

static void begin_block(void) {
    block = malloc(100);
    check_ready();
    begin_thread();
}

int main(int count, char **names) {
    long known = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    if (known < 0 || (known & MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0)
        skip("the kernel has no such barriers");
    if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0)
        skip("a filter of system calls looks on: nothing is asked for");
    if (count > 1) {
        begin_thread();
        return 0;
    }
    begin_block();
    if (access("/proc/self/task", F_OK) != 0)
        return 0; /* nobody says whether there is another thread */
    pid_t child = vfork();
    if (child == 0) {
        execl("/proc/self/exe", names[0], "thread", NULL);
        _exit(1);
    }
    await_child(child);
    return 0;
}
