/*
 * forks: what happens to a janitor when its process forks, and who gets the process's signals?
 *
 *   child     a child of a process with a janitor starts one of its own, and what it frees goes home
 *   many      a thousand children, each of which allocates and frees, while the parent's janitor works on what two threads
 *             churn: every child ends, and when the threads have, the parent's memory goes home
 *   signals   a signal for the process is handled by a thread of the program
 */
#include "home.h"

#include <signal.h>

enum { CHILDREN = 1000, CHURNERS = 2, SIGNALS = 2000, LEFT_KIB = 8192 };

static _Atomic bool stop;
static _Atomic int handled, elsewhere;
static _Atomic long janitor_thread;

static void come_and_go(unsigned seed) {
    struct blocks blocks = {.state = seed};

    build(&blocks, 48 * MIB);
    long peak = rss_kib();
    drop(&blocks, 0);
    AWAIT(rss_kib() < peak - 36 * 1024);
    munmap(blocks.of, 48 * MIB / 64 * sizeof(void *));
}

static void child_has_its_own(void) {
    come_and_go(1);
    CHECK(janitor() != 0);
    pid_t child = fork();
    if (child == 0) {
        CHECK(janitor() == 0);
        come_and_go(2);
        CHECK(janitor() != 0);
        pid_t grandchild = fork();
        if (grandchild == 0) {
            come_and_go(3);
            _exit(janitor() != 0 ? 0 : 1);
        }
        await_child(grandchild);
        _exit(0);
    }
    await_child(child);
    come_and_go(4);
}

static void *churner(void *argument) {
    unsigned seed = (unsigned)(uintptr_t)argument;

    for (; !stop; seed += 2) {
        struct blocks blocks = {.state = seed | 1};
        build(&blocks, 4 * MIB);
        verify_all(&blocks);
        drop(&blocks, 0);
        munmap(blocks.of, 4 * MIB / 64 * sizeof(void *));
    }
    return NULL;
}

static void many_children(void) {
    pthread_t threads[CHURNERS];
    long before = rss_kib();

    for (uintptr_t i = 0; i < CHURNERS; i++)
        threads[i] = start_thread(churner, (void *)(i + 1));
    AWAIT(janitor() != 0);
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(CHILD_SECONDS);
            churn((unsigned)i, 300);
            if (i % 16 == 0)
                malloc_trim(0);
            _exit(0);
        }
        await_child(child);
    }
    stop = true;
    for (int i = 0; i < CHURNERS; i++)
        join_thread(threads[i]);
    AWAIT(rss_kib() < before + LEFT_KIB);
    printf("%d children: %ld KiB before, %ld KiB after\n", CHILDREN, before, rss_kib());
}

static void handler(int number) {
    (void)number;
    if (syscall(SYS_gettid) == janitor_thread)
        elsewhere++;
    handled++;
}

/* While the program's only thread has the signal blocked, the janitor would be the one to get it. */
static void signals_are_the_programs(void) {
    sigset_t one, none;
    struct sigaction action = {.sa_handler = handler};
    char path[64];

    come_and_go(1);
    AWAIT((janitor_thread = janitor()) != 0);
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    sigemptyset(&none);
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    for (int i = 0; i < SIGNALS; i++) {
        CHECK(pthread_sigmask(SIG_SETMASK, &one, NULL) == 0);
        CHECK(kill(getpid(), SIGUSR1) == 0);
        CHECK(handled == i);
        CHECK(pthread_sigmask(SIG_SETMASK, &none, NULL) == 0);
        CHECK(handled == i + 1 && elsewhere == 0);
    }
    snprintf(path, sizeof path, "/proc/self/task/%ld/status", (long)janitor_thread);
    const char *blocked = strstr(text_of(path), "SigBlk:");
    CHECK(blocked != NULL && strtoull(blocked + 7, NULL, 16) >> (SIGUSR1 - 1) & 1);
    CHECK(strtoull(blocked + 7, NULL, 16) >> (SIGPROF - 1) & 1);
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 4096);
    CHECK(argc == 2);
    if (strcmp(argv[1], "child") == 0)
        child_has_its_own();
    else if (strcmp(argv[1], "many") == 0)
        many_children();
    else
        signals_are_the_programs();
    return 0;
}
