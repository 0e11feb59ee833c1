/*
 * spawn: do vfork, posix_spawn, system and exec work while other threads allocate?
 *
 * Two threads allocate without pause. The main thread starts this program again 25 times by posix_spawn, 25
 * times by vfork and execve, 3 times through a shell; the new process allocates and ends. A vforked child
 * shares the parent's memory, so the parent's heap must be untouched afterwards. Lastly a child replaces
 * itself by execve from a thread that is not the main one, while two others allocate.
 */
#include "lifecycle.h"
#include <spawn.h>

extern char **environ;

enum { TIMES = 25, THREADS = 2 };

static volatile bool stop;
static char *self;
static char *arguments[] = {(char *)"spawned", (char *)"child", NULL};

static void *allocate(void *argument) {
    for (unsigned seed = (unsigned)(uintptr_t)argument; !stop; seed++)
        churn(seed, 200);
    return NULL;
}

static void *replace(void *argument) {
    (void)argument;
    execve(self, arguments, environ);
    _exit(1);
}

static pid_t start_by_vfork(void) {
    pid_t pid = vfork();

    if (pid == 0) {
        execve(self, arguments, environ);
        _exit(1);
    }
    return pid;
}

static void exec_from_thread(void) {
    pid_t pid = fork();

    if (pid == 0) {
        alarm(CHILD_SECONDS);
        start_thread(allocate, (void *)1);
        start_thread(allocate, (void *)2);
        start_thread(replace, NULL);
        for (;;)
            churn(3, 100);
    }
    await_child(pid);
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    char command[4200];

    self = argv[0];
    if (argc > 1) {
        alarm(CHILD_SECONDS);
        churn(21, 500);
        return 0;
    }
    for (uintptr_t i = 0; i < THREADS; i++)
        threads[i] = start_thread(allocate, (void *)(i + 1));
    for (int i = 0; i < TIMES; i++) {
        pid_t pid;
        CHECK(posix_spawn(&pid, self, NULL, NULL, arguments, environ) == 0);
        await_child(pid);
        await_child(start_by_vfork());
        churn(22, 200);
    }
    snprintf(command, sizeof command, "'%s' child", self);
    for (int i = 0; i < 3; i++)
        CHECK(system(command) == 0);
    exec_from_thread();
    stop = true;
    for (int i = 0; i < THREADS; i++)
        join_thread(threads[i]);
    return 0;
}
