/*
 * option_unknown: is a wrong option in the environment reported once, and is the program left alone?
 *
 * An unknown name, values out of range and values of the wrong kind: each must be named on standard error in
 * exactly one line, although the program has threads and forks; and the program ends as it should. With
 * HAKMEM_STRICT=1 it is refused with status 2 before main. Good values of every kind are not mentioned.
 */
#include "hostile.h"

static void worker(void) {
    use_heap();
    pid_t pid = fork();
    if (pid == 0) {
        churn(1, 500);
        exit(0);
    }
    await_child(pid);
    dprintf(1, "worker ended\n");
}

static void expect_report(const char *setting, const char *name) {
    static struct ran ran;
    char *argv[] = {self_path(), (char *)(uintptr_t) "worker", NULL};
    const char *env[] = {setting, NULL}, *strict[] = {setting, "HAKMEM_STRICT=1", NULL};

    run(&ran, argv, env, NULL);
    if (ran.status != 0 || lines_with(ran.text, name) != 1 || lines_with(ran.text, "worker ended") != 1)
        show(&ran);
    CHECK(ran.status == 0 && lines_with(ran.text, name) == 1 && lines_with(ran.text, "worker ended") == 1);
    run(&ran, argv, strict, NULL);
    if (ran.status != 2)
        show(&ran);
    CHECK(ran.status == 2 && lines_with(ran.text, name) == 1 && lines_with(ran.text, "worker ended") == 0);
}

static void expect_silence(const char *setting) {
    static struct ran ran;
    char *argv[] = {self_path(), (char *)(uintptr_t) "worker", NULL};
    const char *strict[] = {setting, "HAKMEM_STRICT=1", NULL};

    run(&ran, argv, strict, NULL);
    if (ran.status != 0 || strcmp(ran.text, "worker ended\n") != 0)
        show(&ran);
    CHECK(ran.status == 0 && strcmp(ran.text, "worker ended\n") == 0);
}

int main(int argc, char **argv) {
    if (is_worker(argc, argv)) {
        worker();
        return 0;
    }
    expect_report("HAKMEM_NO_SUCH_OPTION=1", "HAKMEM_NO_SUCH_OPTION");
    expect_report("HAKMEM_PREWARM=99", "HAKMEM_PREWARM");
    expect_report("HAKMEM_KEEP_FREE=many", "HAKMEM_KEEP_FREE");
    expect_report("HAKMEM_PROFILE=fastest", "HAKMEM_PROFILE");
    expect_report("HAKMEM_SS_MEM_LEAN_DECOMMIT=maybe", "DECOMMIT");
    expect_silence("HAKMEM_PREWARM=31");
    expect_silence("HAKMEM_KEEP_FREE=3m");
    expect_silence("HAKMEM_PROFILE=lean");
    expect_silence("HAKMEM_PROFILE=MIXED_TINYV3_C7_BALANCED");
    expect_silence("HAKMEM_SS_MEM_LEAN=1");
    expect_silence("HAKMEM_SS_MEM_LEAN_DECOMMIT=FREE");
    expect_silence("HAKMEM_BENCH_EPOCH_ITERS=500000000");
    return 0;
}
