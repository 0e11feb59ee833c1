/*
 * stats_summary: does HAKMEM_STATS=1 print one readable summary at exit, for every kind of program?
 *
 * It must name peak RSS, live and mapped memory, system calls by kind, page faults and time, once. Programs that
 * close standard error in a handler of their own at exit (the core utilities do) must show it too, and so must
 * one that calls exit from a thread.
 */
#include "hostile.h"
#include <ctype.h>

static const char *const words[] = {"peak rss", "live",    "mapped", "mmap",
                                    "munmap",   "madvise", "fault",  "time"};

static void close_output(void) {
    fclose(stdout);
    fclose(stderr);
}

static void *exit_from_thread(void *argument) {
    churn(2, 500);
    exit(argument != NULL);
}

static void check_summary(char *const argv[]) {
    static const char *const env[] = {"HAKMEM_STATS=1", NULL};
    static struct ran ran;

    run(&ran, argv, env, NULL);
    for (char *c = ran.text; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (ran.status != 0 || strstr(ran.text, words[i]) == NULL) {
            dprintf(2, "looking for \"%s\"\n", words[i]);
            show(&ran);
        }
        CHECK(ran.status == 0 && strstr(ran.text, words[i]) != NULL);
    }
    CHECK(lines_with(ran.text, "peak rss") == 1);
}

int main(int argc, char **argv) {
    char *self = self_path();
    static char worker[] = "worker", closing[] = "closing", thread[] = "thread";

    if (argc > 1) {
        if (strcmp(argv[1], closing) == 0)
            atexit(close_output);
        if (strcmp(argv[1], thread) == 0)
            join_thread(start_thread(exit_from_thread, NULL));
        use_heap();
        return 0;
    }
    check_summary((char *[]){self, worker, NULL});
    check_summary((char *[]){self, thread, NULL});
    check_summary((char *[]){self, closing, NULL});
    return 0;
}
