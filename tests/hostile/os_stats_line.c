/*
 * os_stats_line: does HAKMEM_SS_OS_STATS=1 print exactly one line, in exactly the promised form?
 *
 * Other tools parse it, so every word and its order are fixed. The numbers must make sense for what the worker
 * did: it mapped memory, and no advice met a hole. The line comes at exit, once, also when the process forked (the
 * child that leaves by _exit prints none) or asks for the older and the newer name at once.
 */
#include "hostile.h"
#include <regex.h>

static const char form[] =
    "^\\[SS_OS_STATS\\] alloc=[0-9]+ free=[0-9]+ madvise=[0-9]+ madvise_enomem=0 "
    "madvise_other=[0-9]+ madvise_disabled=[0-9]+ mmap_total=([1-9][0-9]*) fallback_mmap=[0-9]+ "
    "huge_alloc=[0-9]+ huge_fail=[0-9]+ lean_decommit=[0-9]+\n$";

static void check_line(const char *const *env) {
    static struct ran ran;
    char *command[] = {self_path(), (char *)(uintptr_t) "worker", NULL};
    regex_t expression;

    CHECK(regcomp(&expression, form, REG_EXTENDED | REG_NOSUB) == 0);
    run(&ran, command, env, NULL);
    if (ran.status != 0 || regexec(&expression, ran.text, 0, NULL, 0) != 0)
        show(&ran);
    CHECK(ran.status == 0 && regexec(&expression, ran.text, 0, NULL, 0) == 0);
    regfree(&expression);
}

int main(int argc, char **argv) {
    static const char *const older[] = {"HAKMEM_SS_OS_STATS=1", NULL};
    static const char *const both[] = {"HAKMEM_SS_OS_STATS=1", "HAKMEM_OS_STATS=1", NULL};
    static struct ran ran;
    char *command[] = {self_path(), (char *)(uintptr_t) "worker", NULL};

    if (is_worker(argc, argv)) {
        use_heap();
        pid_t pid = fork();
        if (pid == 0)
            _exit(0);
        await_child(pid);
        return 0;
    }
    check_line(older);
    check_line(both);
    CHECK(run(&ran, command, NULL, NULL) == 0 && strcmp(ran.text, "") == 0);
    return 0;
}
