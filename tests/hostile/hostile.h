/*
 * hostile.h: what the programs of tests/hostile share beyond lifecycle.h.
 *
 * Most of them prepare a hostile place (a limit, a filter, closed descriptors) and then start themselves again
 * in it, so that the library's own beginning happens there too. The argument "worker" tells the second run.
 *
 *   run(&ran, argv, env, prepare)   runs a program: `env` is a NULL-ended list of "NAME=value" to add, `prepare`
 *                                   (or NULL) is called in the child before exec. Standard output and error come
 *                                   back in ran.text, the exit status in ran.status (128 + signal if killed).
 *   run_worker(env, prepare)        runs /proc/self/exe with "worker" and checks that it ended with status 0
 *   use_heap()                      the worker's usual work: churn in three threads, large blocks, growth
 *   see_rest_go_home()              what is freed rests and goes home while all sleep: the library's thread is there, as the program has made one, too
 *   allowed_mappings()              how many the kernel lets a process have (vm.max_map_count); skips where that is not told
 */
#ifndef HAKMEM_TESTS_HOSTILE_H
#define HAKMEM_TESTS_HOSTILE_H

#include "../lifecycle/lifecycle.h"

#include <signal.h>
#include <sys/prctl.h>

enum { RUN_SECONDS = 600 }; /* longer than any test may take: its own time-out decides */

struct ran {
    int status;
    size_t length;
    char text[100000];
};

/* It may be all the work of the test, and ends with it. */
static inline void run_child(char *const argv[], const char *const *env, void (*prepare)(void), int output) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(RUN_SECONDS);
    CHECK(dup2(output, 1) == 1 && dup2(output, 2) == 2);
    for (; env != NULL && *env != NULL; env++)
        CHECK(putenv((char *)(uintptr_t)*env) == 0);
    if (prepare != NULL)
        prepare();
    execvp(argv[0], argv);
    _exit(127);
}

static inline int run(struct ran *ran, char *const argv[], const char *const *env, void (*prepare)(void)) {
    int ends[2], status;

    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        run_child(argv, env, prepare, ends[1]);
    close(ends[1]);
    ran->length = 0;
    for (;;) {
        ssize_t got = read(ends[0], ran->text + ran->length, sizeof ran->text - 1 - ran->length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        ran->length += (size_t)got;
    }
    ran->text[ran->length] = '\0';
    close(ends[0]);
    while (waitpid(pid, &status, 0) < 0)
        CHECK(errno == EINTR);
    ran->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return ran->status;
}

static inline void show(const struct ran *ran) {
    dprintf(2, "status %d, output:\n%s\n", ran->status, ran->text);
}

/* The name of this program, good after /proc is gone. */
static inline char *self_path(void) {
    static char path[4096];

    if (path[0] == '\0')
        CHECK(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    return path;
}

static inline void run_worker(const char *const *env, void (*prepare)(void)) {
    static struct ran ran;
    char *argv[] = {self_path(), (char *)(uintptr_t) "worker", NULL};

    if (run(&ran, argv, env, prepare) == SKIPPED) {
        dprintf(2, "%s", ran.text);
        _exit(SKIPPED);
    }
    if (ran.status != 0)
        show(&ran);
    CHECK(ran.status == 0);
}

static inline size_t allowed_mappings(void) {
    char text[32] = "";
    int fd = open("/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC);

    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        skip("max_map_count cannot be read");
    close(fd);
    return strtoul(text, NULL, 10);
}

static inline bool is_worker(int argc, char **argv) {
    return argc > 1 && strcmp(argv[1], "worker") == 0;
}

static inline void *churn_in_thread(void *argument) {
    churn((unsigned)(uintptr_t)argument, 1500);
    return NULL;
}

static inline void use_heap(void) {
    pthread_t threads[3];

    for (uintptr_t i = 0; i < 3; i++)
        threads[i] = start_thread(churn_in_thread, (void *)(i + 1));
    churn(4, 1500);
    for (size_t size = 1; size <= 24u << 20; size = size * 5 / 2 + 1) {
        unsigned char *block = calloc(1, size);
        CHECK(block != NULL);
        verify(block, size, 0);
        fill(block, size, 'h');
        block = realloc(block, size * 2);
        CHECK(block != NULL);
        verify(block, size, 'h');
        free(block);
    }
    for (int i = 0; i < 3; i++)
        join_thread(threads[i]);
    malloc_trim(0);
    churn(5, 1500);
}

static inline void *wait_with_heap(void *ends) {
    free(memset(malloc(1000), 1, 1000));
    pthread_barrier_wait(ends);
    pthread_barrier_wait(ends);
    return NULL;
}

static inline void see_rest_go_home(void) {
    enum { RESTS = 400000, LOOKS = 300 };
    static void *blocks[RESTS];
    pthread_barrier_t ends;

    CHECK(pthread_barrier_init(&ends, NULL, 2) == 0);
    pthread_t thread = start_thread(wait_with_heap, &ends);
    pthread_barrier_wait(&ends);
    take_many(blocks, RESTS, 200);
    long full = rss_kib();
    free_many(blocks, RESTS);
    int looks = 0;
    while (rss_kib() > full / 2 && looks++ < LOOKS)
        usleep(100000);
    CHECK(looks < LOOKS);
    pthread_barrier_wait(&ends);
    join_thread(thread);
}

/* Lines of the text that contain `word`. */
static inline int lines_with(const char *text, const char *word) {
    int count = 0;

    for (const char *at = strstr(text, word); at != NULL; at = strstr(at, word)) {
        count++;
        at = strchrnul(at, '\n');
    }
    return count;
}

#endif
