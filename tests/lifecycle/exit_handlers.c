/*
 * exit_handlers: may a process allocate and free until its very last instruction?
 *
 * A child ends by exit() with handlers that allocate: atexit, on_exit, a destructor of this program, and the
 * destructor of early_library, which runs after the library under test has said good-bye. Another child ends
 * by quick_exit. The marks that each handler leaves in shared memory prove that it ran to its end. The same
 * again with the exit reports (HAKMEM_STATS, HAKMEM_SS_OS_STATS) on; their text is not the question here.
 */
#include "lifecycle.h"
#include <sys/mman.h>

extern int *early_library_ended;

enum { AT_EXIT, ON_EXIT, DESTRUCTOR, EARLY_LIBRARY, QUICK, MARKS };

static int *marks;
static char *kept;

static void handler_at_exit(void) {
    verify(kept, 50000, 'k');
    kept = realloc(kept, 200000);
    CHECK(kept != NULL);
    churn(3, 500);
    marks[AT_EXIT] = 1;
}

static void handler_on_exit(int status, void *argument) {
    CHECK(status == 0 && argument == NULL);
    churn(4, 500);
    marks[ON_EXIT] = 1;
}

static void handler_quick(void) {
    churn(5, 500);
    free(kept);
    marks[QUICK] = 1;
}

__attribute__((destructor)) static void destructor(void) {
    if (marks == NULL)
        return;
    verify(kept, 50000, 'k');
    free(kept);
    churn(6, 500);
    marks[DESTRUCTOR] = 1;
}

static void child(int quick) {
    alarm(CHILD_SECONDS);
    int null = open("/dev/null", O_WRONLY);
    dup2(null, 2);
    early_library_ended = &marks[EARLY_LIBRARY];
    kept = malloc(50000);
    CHECK(kept != NULL);
    fill(kept, 50000, 'k');
    if (quick != 0) {
        CHECK(at_quick_exit(handler_quick) == 0);
        quick_exit(0);
    }
    CHECK(atexit(handler_at_exit) == 0 && on_exit(handler_on_exit, NULL) == 0);
    exit(0);
}

int main(int argc, char **argv) {
    int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    CHECK(shared != MAP_FAILED);
    for (int quick = 0; quick < 2; quick++) {
        pid_t pid = fork();
        if (pid == 0) {
            marks = shared;
            child(quick);
        }
        await_child(pid);
    }
    for (int i = 0; i < MARKS; i++)
        CHECK(shared[i] == 1);
    if (argc == 1) {
        setenv("HAKMEM_STATS", "1", 1);
        setenv("HAKMEM_SS_OS_STATS", "1", 1);
        execl("/proc/self/exe", argv[0], "reports", (char *)NULL);
    }
    return 0;
}
